import { allowanceOf } from './allowed.js'
import { lesser, REFERENCE_MS, type Shares, sharesOf } from './bounds.js'
import { MeasuredServer } from './process/measured-server.js'
import { Attacker, type Sent } from './scene/attacker.js'
import type { Row } from './scene/row.js'
import type { Scene } from './scene/scene.js'
import { STATES, type State, type StateName } from './scene/states.js'

/** A row is measured again before an excess counts. */
const MAX_ATTEMPTS = 3
/**
 * The longest steps that do not count when a row has many equal rounds, because a step of the attack is in every round,
 * and one of the machine or the compiler is not.
 */
const IGNORED_STEPS = 4
const MANY_ROUNDS = 20
const BOUND_NAMES = ['step', 'cpu', 'held'] as const

export interface Result {
  readonly row: Row
  readonly shares: Shares
  /** Why the row failed, empty if it is within its bounds. */
  readonly failure: string
}

/** The connections of the attacker. */
class AttackScene implements Scene {
  readonly sent: Sent = { bytes: 0, frames: 0 }
  readonly #url: string
  readonly #attackers = new Set<Attacker>()
  static #unique = 0

  constructor(url: string) {
    this.#url = url
  }

  async open(): Promise<Attacker> {
    const attacker = await Attacker.open(this.#url, this.sent)
    this.#attackers.add(attacker)
    return attacker
  }

  async connect(packet: Uint8Array): Promise<Attacker> {
    const attacker = await this.open()
    await attacker.send(packet)
    await attacker.hears()
    return attacker
  }

  unique(): number {
    return AttackScene.#unique++
  }

  hangUp(): void {
    for (const attacker of this.#attackers) attacker.hangUp()
    this.#attackers.clear()
  }
}

/** A server with one state, at which rows are measured one after another. */
export class Bench {
  readonly #server: MeasuredServer
  readonly #filler: AttackScene
  readonly #scale: number

  private constructor(server: MeasuredServer, scale: number) {
    this.#server = server
    this.#filler = new AttackScene(server.addresses.mqtt)
    this.#scale = scale
  }

  /** @param program - the bundled server */
  static async open(program: string, name: StateName): Promise<Bench> {
    const state: State = STATES[name]
    const server = await MeasuredServer.start(program, state.settings)
    const scale = Math.max(1, (await server.ask('reference')) / REFERENCE_MS)
    const bench = new Bench(server, scale)
    await state.fill(bench.#filler)
    return bench
  }

  get isUsable(): boolean {
    return this.#server.isRunning
  }

  async close(): Promise<void> {
    this.#filler.hangUp()
    await this.#server.stop()
  }

  /** Measures a row until it is within its bounds, three times at most. The best of each bound counts. */
  async measure(row: Row): Promise<Result> {
    let shares: Shares = {
      step: Number.POSITIVE_INFINITY,
      cpu: Number.POSITIVE_INFINITY,
      held: Number.POSITIVE_INFINITY,
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        shares = lesser(shares, await this.#measureOnce(row))
      } catch (error) {
        const failure = this.#server.isRunning ? String(error) : this.#server.end
        return { row, shares, failure }
      }
      const faults = await this.#server.ask('faults')
      if (faults.length > 0) return { row, shares, failure: faults.join('; ') }
      if (row.isOnce || excessOf(row, shares) === '') break
    }
    return { row, shares, failure: excessOf(row, shares) }
  }

  async #measureOnce(row: Row): Promise<Shares> {
    const scene = new AttackScene(this.#server.addresses.mqtt)
    try {
      const attack = await row.start(scene)
      if (!row.isOnce) await attack(0)
      await this.#server.ask('begin')
      Object.assign(scene.sent, { bytes: 0, frames: 0 })
      for (let round = 1; round <= row.rounds; round++) await attack(round)
      const measurement = await this.#server.ask('end')
      if (scene.sent.bytes === 0) throw new Error('the attack sent nothing')
      const { bytes: sentBytes, frames } = scene.sent
      const ignored = row.rounds < MANY_ROUNDS ? 0 : IGNORED_STEPS
      const longestStepMs = measurement.longestStepsMs[ignored] ?? 0
      return sharesOf({ ...measurement, longestStepMs, sentBytes, frames }, this.#scale)
    } finally {
      scene.hangUp()
    }
  }
}

/** Returns the bounds that a row exceeds more than it may, as text. */
function excessOf({ name }: Row, shares: Shares): string {
  return BOUND_NAMES.filter(bound => shares[bound] > allowanceOf(name, bound).share)
    .map(bound => `${bound} is ${shares[bound].toFixed(1)} times its bound`)
    .join(', ')
}
