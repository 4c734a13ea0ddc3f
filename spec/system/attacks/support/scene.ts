import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { bundle, type Program } from '../../../support/bundle.js'
import { connect } from '../../../support/packets.js'
import { RawSocket } from '../../../support/raw-socket.js'
import { type Experience, Innocent } from './innocent.js'
import { type ChildOptions, type Memory, StoreChild } from './store-child.js'

/** How long a round of an innocent client may take beside an attack, ms; what is to be shown takes it many times longer. */
const LONGEST_ROUND = 1_000
/** Of a round in peace, ms: less than this is the machine's mood. */
const MIN_QUIET_MS = 10
/** Of a round: to the store, back, and to the store again. */
const STEPS = 3
/** So many before an attack in peace, and so many after it. */
const ROUNDS = 20
/** So many where it matters how long 99 of 100 take. */
const QUIET_ROUNDS = 200
/** What may be left of an attack when it is over, bytes: caches, pools, code. */
const REMAINS = 32 * 1024 * 1024

/** What an attack must not go beyond. */
export interface Bounds {
  /** How much the process may grow meanwhile, bytes. Default 256 MiB. */
  readonly growth?: number
  /** How much of that may still be held when the attack is over, its connections gone and garbage collected, bytes. */
  readonly held?: number
  /** ms; default a second. */
  readonly longestRound?: number
  /** How many times longer than in peace 99 of 100 rounds may take; default any, within `longestRound`. */
  readonly slowdown?: number
  /** An attack that lasts longer has not been served, which is no fault, and is judged as it stands, ms. Default 6 s. */
  readonly longestAttack?: number
  /** Whether it has to come to its end, because it is to find out something itself. Default `false`. */
  readonly toTheEnd?: boolean
}

let programs: { readonly store: Program; readonly innocent: Program } | undefined

/** To be called once in a file: builds what the processes run. */
export function prepareScenes(): void {
  beforeAll(async () => {
    const [store, innocent] = await Promise.all([
      bundle(new URL('store-process.ts', import.meta.url)),
      bundle(new URL('innocent-process.ts', import.meta.url)),
    ])
    programs = { store, innocent }
  })
  afterAll(async () => {
    await Promise.all([programs?.store[Symbol.asyncDispose](), programs?.innocent[Symbol.asyncDispose]()])
  })
}

const NOT_PREPARED = new Error('prepareScenes() was not called')

/** A store of its own, without anybody. */
export async function startStore(options: ChildOptions = {}): Promise<StoreChild> {
  if (programs === undefined) throw NOT_PREPARED
  return StoreChild.start(programs.store, options)
}

/** A store of its own for a test, gone when that ends. */
export async function openScene(options: ChildOptions = {}): Promise<Scene> {
  const store = await startStore(options)
  if (programs === undefined) throw NOT_PREPARED
  onTestFinished(async () => store[Symbol.asyncDispose]())
  const innocent = await Innocent.start(programs.innocent, store.addresses.url)
  onTestFinished(async () => innocent[Symbol.asyncDispose]())
  // Code that runs for the first time is slow.
  expect((await innocent.experience(ROUNDS)).complaints).toEqual([])
  const before = await store.memory()
  // Collecting garbage took its time.
  await innocent.experience(1)
  return new Scene(store, innocent, before)
}

/** A store, beside it somebody innocent, and somebody else. */
export class Scene {
  readonly store: StoreChild
  readonly #innocent: Innocent
  readonly #before: Memory
  readonly #attackers = new Set<RawSocket>()
  #over = false

  constructor(store: StoreChild, innocent: Innocent, before: Memory) {
    this.store = store
    this.#innocent = innocent
    this.#before = before
  }

  /** A connection; nothing is said yet. Default over TCP. */
  async open(url: string = this.store.addresses.url): Promise<RawSocket> {
    if (this.#over) throw new Error('The attack is over')
    const attacker = await RawSocket.open(url)
    this.#attackers.add(attacker)
    attacker.socket.once('close', () => this.#attackers.delete(attacker))
    return attacker
  }

  /** Connects with a client id, or with a CONNECT as it is, and waits for the answer, whatever it is. */
  async connect(greeting: Buffer | string): Promise<RawSocket> {
    const attacker = await this.open()
    await attacker.send(typeof greeting === 'string' ? connect(greeting) : greeting)
    await attacker.hears()
    return attacker
  }

  /** Runs an attack, ends its connections, and judges it by what the innocent client and the process went through. */
  async under(attack: () => Promise<void>, bounds: Bounds = {}): Promise<void> {
    const rounds = bounds.slowdown === undefined ? ROUNDS : QUIET_ROUNDS
    const quiet = await this.#innocent.experience(rounds)
    expect(quiet.complaints).toEqual([])
    const attacked = attack().then(
      () => true,
      error => {
        // It was still about to do something.
        if (!this.#over) throw error
        return false
      },
    )
    const limit = bounds.longestAttack ?? 6_000
    const ended = await Promise.race([attacked, new Promise(resolve => setTimeout(() => resolve(false), limit))])
    expect(ended || bounds.toTheEnd !== true, 'it was served to its end').toBe(true)
    this.#over = true
    for (const attacker of this.#attackers) attacker.hangUp()
    await expectUnharmed(this.store, await this.#innocent.experience(rounds), quiet, this.#before, bounds)
  }

  /** Settles when the memory is back that was taken since the scene began. */
  async expectRecovered(): Promise<void> {
    await expectRecovered(this.store, this.#before)
  }
}

async function expectUnharmed(
  store: StoreChild,
  { rounds, p99, worst, noise, complaints }: Experience,
  quiet: Experience,
  before: Memory,
  bounds: Bounds,
): Promise<void> {
  const { growth = 256 * 1024 * 1024, held = growth, longestRound = LONGEST_ROUND, slowdown = Infinity } = bounds
  expect(store.fate).toBe('running')
  const times = [quiet.p99, p99, worst].map(ms => ms.toFixed(1)).join(', ')
  const words = `${rounds} rounds, p99 in peace, p99, worst ${times} ms, noise ${noise.toFixed(0)} ms`
  // A round goes back and forth between processes, and each may have to wait for the machine.
  const starved = worst > longestRound + STEPS * noise
  const slowed = p99 > slowdown * Math.max(quiet.p99, MIN_QUIET_MS) + STEPS * noise
  // Before the store is asked anything, which may not be able to answer.
  expect({ complaints, starved, slowed }, words).toEqual({ complaints: [], starved: false, slowed: false })
  const after = await store.memory()
  const grown = megabytes(after.peak - before.rss)
  const kept = megabytes(after.held - before.held)
  if (process.env['FIGURES']) console.info(`${words}, grown by ${grown} MB, holds ${kept} MB of it`)
  expect(grown, 'MB').toBeLessThan(megabytes(growth))
  expect(kept, 'MB held').toBeLessThan(megabytes(held))
}

// Connections end, and finalizers run, when they do.
async function expectRecovered(store: StoreChild, before: Memory): Promise<void> {
  await expect
    .poll(async () => megabytes(Math.max(0, (await store.memory()).held - before.held - REMAINS)), {
      timeout: 10_000,
      interval: 100,
    })
    .toBe(0)
}

const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)
