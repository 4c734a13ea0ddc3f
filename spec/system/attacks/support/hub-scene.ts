import { expect } from 'vitest'
import type { ServePubSubOptions } from '../../../../src/pubsub/hub/index.js'
import type { HubStats } from '../../../../src/pubsub/hub/pubsub-server.js'
import { bundledProgram } from '../../../support/bundle.js'
import type { RawSocket } from '../../../support/raw-socket.js'
import { AnsweringProgram } from '../../../support/running-program.js'
import { attackHub, type HubLogin } from './hub-frames.js'

/** The memory of the hub's process, in bytes. */
export interface HubMemory {
  /** The heap and external memory after a garbage collection. */
  readonly held: number
  /** The largest resident set so far. */
  readonly peak: number
  /** The processor time used so far, in ms. */
  readonly cpu: number
}

/**
 * Measurements of an innocent member. In a round, the member sends a message to its group and receives the ack and the
 * message.
 */
export interface MemberExperience {
  readonly rounds: number
  /** The durations of rounds, in ms. */
  readonly p50: number
  readonly p99: number
  readonly worst: number
  /** Lost or duplicate messages, and closed connections. */
  readonly complaints: readonly string[]
}

/** The time before an attack, in ms. */
const WARM_UP_MS = 300
/** The permitted durations of rounds: this factor of those at a hub that is not attacked, or these minimums in ms. */
const MAX_FACTOR = 3
const MIN_P99_MS = 10
const MIN_P50_MS = 3
/** If the p99 of the member that is not attacked exceeds this value in ms, the machine is too busy to judge by the p99. */
const BUSY_P99_MS = 5
/** The heap size of a child process, in MB. */
const HEAP_MB = 1_024

let programs: { readonly hub: () => string; readonly member: () => string } | undefined

/** Builds the child programs. Must be called once per file. */
export function prepareHubScenes(): void {
  programs = {
    hub: bundledProgram(new URL('hub-process.ts', import.meta.url)),
    member: bundledProgram(new URL('member-process.ts', import.meta.url)),
  }
}

/** A hub in a process, with a member in another process. */
interface Pair {
  readonly hub: AnsweringProgram
  readonly member: AnsweringProgram
  readonly port: number
}

async function startPair(options: Partial<ServePubSubOptions>, pauseMs: number): Promise<Pair> {
  if (programs === undefined) throw new Error('prepareHubScenes() was not called')
  const flags = ['--expose-gc', `--max-old-space-size=${HEAP_MB}`]
  const { program: hub, ready } = await AnsweringProgram.launch(programs.hub(), [JSON.stringify(options)], flags)
  const url = `ws://127.0.0.1:${ready}/client/hubs/chat?user=innocent&may=all`
  const { program: member } = await AnsweringProgram.launch(programs.member(), [url, String(pauseMs)], flags)
  return { hub, member, port: Number(ready) }
}

/**
 * Opens a hub with an innocent member for one test, and a second pair that is not attacked as the baseline.
 *
 * @param pauseMs - delay between two rounds of the innocent member
 */
export async function openHubScene(options: Partial<ServePubSubOptions> = {}, pauseMs = 2): Promise<HubScene> {
  const [attacked, quiet] = await Promise.all([startPair(options, pauseMs), startPair(options, pauseMs)])
  await sleep(WARM_UP_MS)
  return new HubScene(attacked, quiet.member)
}

export class HubScene {
  readonly port: number
  readonly #hub: AnsweringProgram
  readonly #member: AnsweringProgram
  /** The member that is not attacked. */
  readonly #quiet: AnsweringProgram
  readonly #attackers: RawSocket[] = []

  constructor({ hub, member, port }: Pair, quiet: AnsweringProgram) {
    this.#hub = hub
    this.#member = member
    this.port = port
    this.#quiet = quiet
  }

  async connect(login: HubLogin = {}): Promise<RawSocket> {
    const attacker = await attackHub(this.port, login)
    this.#attackers.push(attacker)
    return attacker
  }

  /** Connects several clients, one after the other. */
  async connectAll(count: number, login: (n: number) => HubLogin): Promise<readonly RawSocket[]> {
    const attackers: RawSocket[] = []
    for (let n = 0; n < count; n++) attackers.push(await this.connect(login(n)))
    return attackers
  }

  async memory(): Promise<HubMemory> {
    return this.#hub.ask('memory')
  }

  async stats(): Promise<HubStats> {
    return this.#hub.ask('stats')
  }

  async audit(): Promise<readonly string[]> {
    return this.#hub.ask('audit')
  }

  /** Sends a piece over all connections as fast as possible, for `ms` ms. */
  async flood(attackers: readonly RawSocket[], piece: Buffer, ms: number): Promise<void> {
    const end = performance.now() + ms
    const late = sleep(ms)
    await Promise.all(
      attackers.map(async attacker => {
        while (performance.now() < end && !attacker.ended) await Promise.race([attacker.send(piece), late])
      }),
    )
  }

  /**
   * Runs an attack and judges it by the measurements of the innocent member during the attack.
   *
   * @param isTimed - whether the durations of rounds are judged, which thousands of handshakes would distort
   */
  async runAttack(attack: () => Promise<void>, isTimed = true): Promise<MemberExperience> {
    await this.#experiences()
    const before = await this.memory()
    const began = performance.now()
    await attack()
    const [experience, quiet] = await this.#experiences()
    const share = ((await this.memory()).cpu - before.cpu) / (performance.now() - began)
    for (const attacker of this.#attackers.splice(0)) attacker.hangUp()
    const { complaints } = experience
    const words = `attacked: ${describe(experience)}; not attacked: ${describe(quiet)}; ${(100 * share).toFixed(0)} % of a processor used`
    if (process.env['FIGURES']) process.stderr.write(`${words}\n`)
    const isSlow = isTimed && isSlower(experience, quiet)
    expect({ complaints, isRunning: this.#hub.isRunning, isSlow }, words).toEqual({
      complaints: [],
      isRunning: true,
      isSlow: false,
    })
    return experience
  }

  /** Returns the measurements of both members since the last call. */
  async #experiences(): Promise<[MemberExperience, MemberExperience]> {
    return Promise.all([this.#member.ask('experience'), this.#quiet.ask('experience')])
  }
}

/**
 * Returns whether an attack has slowed down a member. If the member that is not attacked has long rounds as well, the
 * machine is busy and the median decides.
 */
function isSlower(attacked: MemberExperience, quiet: MemberExperience): boolean {
  if (quiet.p99 > BUSY_P99_MS) return attacked.p50 > MAX_FACTOR * Math.max(quiet.p50, MIN_P50_MS)
  return attacked.p99 > MAX_FACTOR * Math.max(quiet.p99, MIN_P99_MS)
}

const describe = ({ rounds, p50, p99, worst }: MemberExperience): string =>
  `${rounds} rounds, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, worst ${worst.toFixed(0)} ms`

const sleep = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
