import { expect, onTestFinished } from 'vitest'
import type { ServePubSubOptions } from '../../../../src/pubsub/hub/index.js'
import type { HubStats } from '../../../../src/pubsub/hub/pubsub-server.js'
import { bundledProgram } from '../../../support/bundle.js'
import type { RawSocket } from '../../../support/raw-socket.js'
import { AnsweringProgram } from '../../../support/running-program.js'
import { attackHub, type HubLogin } from './hub-frames.js'
import { Innocent, type RoundLimits } from './innocent.js'

interface HubAttackLimits extends RoundLimits {
  /** Whether the durations of rounds are compared with those before the attack. Default `true`. */
  readonly isSlowdownJudged?: boolean
}

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

/**
 * Starts a hub in a process with an innocent member in another process. The caller ends it.
 *
 * @param pauseMs - delay between two rounds of the member, in which it sends a message to its group and receives the ack
 * and the message
 */
export async function startHubScene(options: Partial<ServePubSubOptions> = {}, pauseMs = 2): Promise<HubScene> {
  if (programs === undefined) throw new Error('prepareHubScenes() was not called')
  const flags = ['--expose-gc', `--max-old-space-size=${HEAP_MB}`]
  const { program: hub, ready: port } = await AnsweringProgram.start(programs.hub(), [JSON.stringify(options)], flags)
  const url = `ws://127.0.0.1:${port}/client/hubs/chat?user=innocent&may=all`
  const { program: member } = await AnsweringProgram.start(programs.member(), [url, String(pauseMs)])
  const innocent = await Innocent.start(member, async () => hub.ask('work'))
  return new HubScene(hub, member, innocent, Number(port))
}

/** Opens a scene for one test. */
export async function openHubScene(...options: Parameters<typeof startHubScene>): Promise<HubScene> {
  const scene = await startHubScene(...options)
  onTestFinished(async () => scene.end())
  return scene
}

/** A hub with an innocent member and attackers. */
export class HubScene {
  readonly port: number
  readonly #hub: AnsweringProgram
  readonly #member: AnsweringProgram
  readonly #innocent: Innocent
  readonly #attackers: RawSocket[] = []

  constructor(hub: AnsweringProgram, member: AnsweringProgram, innocent: Innocent, port: number) {
    this.#hub = hub
    this.#member = member
    this.#innocent = innocent
    this.port = port
  }

  async end(): Promise<void> {
    await Promise.all([this.#member.end(), this.#hub.end()])
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

  /** Returns the heap and external memory of the hub after a garbage collection, in bytes. */
  async heldBytes(): Promise<number> {
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

  /** Runs an attack and judges it by the measurements of the innocent member. */
  async runAttack(
    attack: () => Promise<void>,
    { isSlowdownJudged = true, ...limits }: HubAttackLimits = {},
  ): Promise<void> {
    if (isSlowdownJudged) await this.#innocent.measureQuiet()
    await attack()
    const words = await this.#innocent.expectUnharmed({ rounds: 0, ...limits })
    for (const attacker of this.#attackers.splice(0)) attacker.hangUp()
    if (process.env['FIGURES']) console.info(words)
    expect(this.#hub.status).toBe('running')
  }
}

const sleep = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
