import { expect } from 'vitest'
import { bundledProgram } from '../../../support/bundle.js'
import { connect } from '../../../support/packets.js'
import { RawSocket } from '../../../support/raw-socket.js'
import { type Experience, Innocent } from './innocent.js'
import { type ChildOptions, type Memory, StoreChild } from './store-child.js'

/**
 * The maximum duration of a round during an attack, in ms. The failures that the specs look for take many times longer.
 */
const MAX_ROUND_MS = 1_000
/** The duration in ms below which rounds are within the noise of the machine. */
const MIN_QUIET_MS = 10
/** The steps of a round: to the store, back, and to the store again. */
const STEPS = 3
/** The number of rounds before and after an attack. */
const ROUNDS = 20
/** The number of rounds for specs that judge the 99th percentile. */
const P99_ROUNDS = 200
/** The memory that may remain after an attack for caches, pools and code, in bytes. */
const RESIDUAL_BYTES = 32 * 1024 * 1024

export interface AttackLimits {
  /** The maximum growth of the process in bytes. Default 256 MiB. */
  readonly maxGrowthBytes?: number
  /** The maximum memory held after the connections have closed and garbage was collected, in bytes. */
  readonly maxHeldBytes?: number
  /** The maximum duration of a round, in ms. Default 1 s. */
  readonly maxRoundMs?: number
  /** The maximum factor by which an attack may raise the 99th percentile. By default, only `maxRoundMs` applies. */
  readonly maxSlowdown?: number
  /** The time in ms after which an attack is stopped and judged. Default 6 s. */
  readonly maxAttackMs?: number
  /** Whether the attack must complete, because it has its own assertions. Default `false`. */
  readonly mustComplete?: boolean
}

let programs: { readonly store: () => string; readonly innocent: () => string } | undefined

/** Builds the child programs. Must be called once per file. */
export function prepareScenes(): void {
  programs = {
    store: bundledProgram(new URL('store-process.ts', import.meta.url)),
    innocent: bundledProgram(new URL('innocent-process.ts', import.meta.url)),
  }
}

const NOT_PREPARED = new Error('prepareScenes() was not called')

/** Starts a store without clients. */
export async function startStore(options: ChildOptions = {}): Promise<StoreChild> {
  if (programs === undefined) throw NOT_PREPARED
  return StoreChild.start(programs.store(), options)
}

/** Opens a scene with a separate store for one test. */
export async function openScene(options: ChildOptions = {}): Promise<Scene> {
  const store = await startStore(options)
  if (programs === undefined) throw NOT_PREPARED
  const innocent = await Innocent.start(programs.innocent(), store.addresses.url)
  // The first rounds warm up the code, which is slow on its first run.
  expect((await innocent.experience(ROUNDS)).complaints).toEqual([])
  const before = await store.memory()
  // This round absorbs the delay of the garbage collection, so that no later round includes it.
  await innocent.experience(1)
  return new Scene(store, innocent, before)
}

/** A store with an innocent client and an attacker. */
export class Scene {
  readonly store: StoreChild
  readonly #innocent: Innocent
  readonly #before: Memory
  readonly #attackers = new Set<RawSocket>()
  #isOver = false

  constructor(store: StoreChild, innocent: Innocent, before: Memory) {
    this.store = store
    this.#innocent = innocent
    this.#before = before
  }

  /** Opens a connection without sending data, by default over TCP. */
  async open(url: string = this.store.addresses.url): Promise<RawSocket> {
    if (this.#isOver) throw new Error('The attack has ended')
    const attacker = await RawSocket.open(url)
    this.#attackers.add(attacker)
    attacker.socket.once('close', () => this.#attackers.delete(attacker))
    return attacker
  }

  /** Sends a CONNECT, given as a client id or as bytes, and waits for any response. */
  async connect(greeting: Buffer | string): Promise<RawSocket> {
    const attacker = await this.open()
    await attacker.send(typeof greeting === 'string' ? connect(greeting) : greeting)
    await attacker.hears()
    return attacker
  }

  /**
   * Runs an attack, closes the connections of the attack, and judges the attack by the measurements of the innocent
   * client and the process.
   */
  async runAttack(attack: () => Promise<void>, bounds: AttackLimits = {}): Promise<void> {
    const rounds = bounds.maxSlowdown === undefined ? ROUNDS : P99_ROUNDS
    const quiet = await this.#innocent.experience(rounds)
    expect(quiet.complaints).toEqual([])
    const attacked = attack().then(
      () => true,
      error => {
        // Errors of an attack that was stopped are expected.
        if (!this.#isOver) throw error
        return false
      },
    )
    const limit = bounds.maxAttackMs ?? 6_000
    const ended = await Promise.race([attacked, new Promise(resolve => setTimeout(() => resolve(false), limit))])
    expect(ended || bounds.mustComplete !== true, 'the attack must complete').toBe(true)
    this.#isOver = true
    for (const attacker of this.#attackers) attacker.hangUp()
    await expectUnharmed(this.store, await this.#innocent.experience(rounds), quiet, this.#before, bounds)
  }

  /** Waits until the memory taken since the start of the scene is released. */
  async expectRecovered(): Promise<void> {
    await expectRecovered(this.store, this.#before)
  }
}

async function expectUnharmed(
  store: StoreChild,
  { rounds, p99, worst, noise, complaints }: Experience,
  quiet: Experience,
  before: Memory,
  bounds: AttackLimits,
): Promise<void> {
  const {
    maxGrowthBytes = 256 * 1024 * 1024,
    maxHeldBytes = maxGrowthBytes,
    maxRoundMs = MAX_ROUND_MS,
    maxSlowdown = Infinity,
  } = bounds
  expect(store.exitStatus).toBe('running')
  const times = [quiet.p99, p99, worst].map(ms => ms.toFixed(1)).join(', ')
  const words = `${rounds} rounds, p99 before, p99, worst ${times} ms, noise ${noise.toFixed(0)} ms`
  // A round passes between processes, and the machine may delay each of them.
  const starved = worst > maxRoundMs + STEPS * noise
  const slowed = p99 > maxSlowdown * Math.max(quiet.p99, MIN_QUIET_MS) + STEPS * noise
  // These values are checked first, because the store may be unable to respond.
  expect({ complaints, starved, slowed }, words).toEqual({ complaints: [], starved: false, slowed: false })
  const after = await store.memory()
  const grown = megabytes(after.peak - before.rss)
  const kept = megabytes(after.held - before.held)
  if (process.env['FIGURES']) console.info(`${words}, grown by ${grown} MB, holds ${kept} MB of it`)
  expect(grown, 'MB').toBeLessThan(megabytes(maxGrowthBytes))
  expect(kept, 'MB held').toBeLessThan(megabytes(maxHeldBytes))
}

// Connections end and finalizers run at arbitrary times.
async function expectRecovered(store: StoreChild, before: Memory): Promise<void> {
  await expect
    .poll(async () => megabytes(Math.max(0, (await store.memory()).held - before.held - RESIDUAL_BYTES)), {
      timeout: 10_000,
      interval: 100,
    })
    .toBe(0)
}

const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)
