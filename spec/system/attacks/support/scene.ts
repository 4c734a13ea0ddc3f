import { expect } from 'vitest'
import { bundledProgram } from '../../../support/bundle.js'
import { connect } from '../../../support/packets.js'
import { RawSocket } from '../../../support/raw-socket.js'
import { type Innocent, preparedInnocent, type RoundLimits } from './innocent.js'
import { type ChildOptions, type Memory, StoreChild } from './store-child.js'

/** The memory that may remain after an attack for caches, pools and code, in bytes. */
const RESIDUAL_BYTES = 32 * 1024 * 1024

/** The time after which an attack that need not complete is stopped and judged, in ms. */
const MAX_ATTACK_MS = 6_000

export interface AttackLimits extends RoundLimits {
  /** The maximum growth of the process in bytes. Default 256 MiB. */
  readonly maxGrowthBytes?: number
  /** The maximum memory held after the connections have closed and garbage was collected, in bytes. */
  readonly maxHeldBytes?: number
  /** Whether the durations of rounds are compared with those before the attack. By default, only `maxRoundMs` applies. */
  readonly isSlowdownJudged?: boolean
  /** Whether the attack must complete, because it has its own assertions. By default, it is stopped after 6 s. */
  readonly mustComplete?: boolean
}

let programs: { readonly store: () => string; readonly startInnocent: ReturnType<typeof preparedInnocent> } | undefined

/** Builds the child programs. Must be called once per file. */
export function prepareScenes(): void {
  programs = {
    store: bundledProgram(new URL('store-process.ts', import.meta.url)),
    startInnocent: preparedInnocent(),
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
  const innocent = await programs.startInnocent(store.addresses.url, async () => store.work())
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
    if (bounds.isSlowdownJudged) await this.#innocent.measureQuiet()
    const attacked = attack().catch((error: unknown) => {
      // Errors of an attack that was stopped are expected.
      if (!this.#isOver) throw error
    })
    if (bounds.mustComplete) await attacked
    else await Promise.race([attacked, new Promise(resolve => setTimeout(resolve, MAX_ATTACK_MS))])
    this.#isOver = true
    for (const attacker of this.#attackers) attacker.hangUp()
    expect(this.store.exitStatus).toBe('running')
    // The client is checked first, because the store may be unable to respond.
    const words = await this.#innocent.expectUnharmed(bounds)
    await this.#expectLimitedMemory(words, bounds)
  }

  async #expectLimitedMemory(words: string, bounds: AttackLimits): Promise<void> {
    const { maxGrowthBytes = 256 * 1024 * 1024, maxHeldBytes = maxGrowthBytes } = bounds
    const after = await this.store.memory()
    const grown = megabytes(after.peak - this.#before.rss)
    const kept = megabytes(after.held - this.#before.held)
    if (process.env['FIGURES']) console.info(`${words}, grown by ${grown} MB, holds ${kept} MB of it`)
    expect(grown, 'MB').toBeLessThan(megabytes(maxGrowthBytes))
    expect(kept, 'MB held').toBeLessThan(megabytes(maxHeldBytes))
  }

  /** Waits until the memory taken since the start of the scene is released. */
  async expectRecovered(): Promise<void> {
    // Connections end and finalizers run at arbitrary times.
    await expect
      .poll(async () => megabytes(Math.max(0, (await this.store.memory()).held - this.#before.held - RESIDUAL_BYTES)), {
        timeout: 10_000,
        interval: 100,
      })
      .toBe(0)
  }
}

const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)
