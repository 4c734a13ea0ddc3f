import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { HubStats } from '../../../src/pubsub/hub/hub-stats.js'
import type { ServePubSubOptions } from '../../../src/pubsub/server.js'
import { bundle, type Program } from '../../support/bundle.js'
import type { Attacker } from './attacker.js'
import { attackHub, type HubLogin } from './hub-frames.js'

/** bytes */
export interface HubMemory {
  /** Heap and what it holds outside, after a garbage collection. */
  readonly held: number
  /** The largest resident set so far. */
  readonly peak: number
}

/** What an innocent member has measured. A round is a message to its own group, its acknowledgement, and the message. */
export interface MemberExperience {
  readonly rounds: number
  /** Durations of rounds, ms. */
  readonly p50: number
  readonly p99: number
  readonly worst: number
  /** How late timers of the member's own process were (p99), ms: so busy is the machine. */
  readonly noise: number
  /** What was lost, repeated or closed. */
  readonly complaints: readonly string[]
}

/** How long the quiet hub is measured, ms. */
const QUIET_MS = 700
/** Beside an attack the p99 may be this many times that of the quiet hub, or of a hub as slow as this, ms. */
const MAX_FACTOR = 3
const SLOW_P99_MS = 15
/** MB */
const HEAP = 1_024

let programs: { readonly hub: Program; readonly member: Program } | undefined

/** To be called once in a file: builds what the processes run. */
export function prepareHubScenes(): void {
  beforeAll(async () => {
    const [hub, member] = await Promise.all([
      bundle(new URL('hub-process.ts', import.meta.url)),
      bundle(new URL('member-process.ts', import.meta.url)),
    ])
    programs = { hub, member }
  })
  afterAll(async () => {
    await Promise.all([programs?.hub[Symbol.asyncDispose](), programs?.member[Symbol.asyncDispose]()])
  })
}

/** A process that answers one question at a time. */
class Child {
  readonly #process: ChildProcess

  constructor(process: ChildProcess) {
    this.#process = process
    onTestFinished(async () => {
      if (!this.isRunning) return
      const ended = once(process, 'exit')
      process.kill('SIGKILL')
      await ended
    })
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null
  }

  async ask(question: string) {
    const answer = once(this.#process, 'message')
    this.#process.send(question)
    const [value] = await Promise.race([
      answer,
      once(this.#process, 'exit').then(() => {
        throw new Error('The process has ended')
      }),
    ])
    return value
  }
}

async function start({ path }: Program, args: readonly string[]): Promise<[Child, unknown]> {
  const child = fork(path, args, {
    execArgv: ['--expose-gc', `--max-old-space-size=${HEAP}`],
    env: { PATH: process.env['PATH'] },
  })
  const [message] = await once(child, 'message')
  return [new Child(child), message]
}

/** A hub in its own process with an innocent member, for one test. */
export async function openHubScene(options: Partial<ServePubSubOptions> = {}): Promise<HubScene> {
  if (programs === undefined) throw new Error('prepareHubScenes() was not called')
  const [hub, port] = await start(programs.hub, [JSON.stringify(options)])
  const [member] = await start(programs.member, [`ws://127.0.0.1:${port}/client/hubs/chat?user=innocent&may=all`])
  await member.ask('experience')
  await sleep(QUIET_MS)
  const quiet: MemberExperience = await member.ask('experience')
  expect(quiet.complaints).toEqual([])
  return new HubScene(hub, member, Number(port), quiet)
}

/** A hub, an innocent member, and attackers. */
export class HubScene {
  readonly port: number
  readonly #hub: Child
  readonly #member: Child
  readonly #quiet: MemberExperience
  readonly #attackers: Attacker[] = []

  constructor(hub: Child, member: Child, port: number, quiet: MemberExperience) {
    this.#hub = hub
    this.#member = member
    this.port = port
    this.#quiet = quiet
  }

  async connect(login: HubLogin = {}): Promise<Attacker> {
    const attacker = await attackHub(this.port, login)
    this.#attackers.push(attacker)
    return attacker
  }

  /** Several connections, one after the other. */
  async connectAll(count: number, login: (n: number) => HubLogin): Promise<readonly Attacker[]> {
    const attackers: Attacker[] = []
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

  /** Sends a piece over all connections as fast as they take it, for so many ms. */
  async flood(attackers: readonly Attacker[], piece: Buffer, ms: number): Promise<void> {
    const end = performance.now() + ms
    const late = sleep(ms)
    await Promise.all(
      attackers.map(async attacker => {
        while (performance.now() < end && !attacker.ended) await Promise.race([attacker.send(piece), late])
      }),
    )
  }

  /** Runs an attack and judges it by what the innocent member measured meanwhile. */
  async under(attack: () => Promise<void>): Promise<MemberExperience> {
    await this.#member.ask('experience')
    await attack()
    const experience: MemberExperience = await this.#member.ask('experience')
    for (const attacker of this.#attackers.splice(0)) attacker.hangUp()
    const { rounds, p50, p99, worst, noise, complaints } = experience
    const words = `quiet p99 ${this.#quiet.p99.toFixed(1)} ms; attacked p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, worst ${worst.toFixed(0)} ms of ${rounds} rounds; noise ${noise.toFixed(1)} ms`
    if (process.env['FIGURES']) process.stderr.write(`${words}\n`)
    const limit = MAX_FACTOR * (Math.max(this.#quiet.p99, SLOW_P99_MS) + noise)
    expect({ complaints, isRunning: this.#hub.isRunning, isSlow: p99 > limit }, words).toEqual({
      complaints: [],
      isRunning: true,
      isSlow: false,
    })
    return experience
  }
}

const sleep = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
