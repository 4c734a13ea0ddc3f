import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { answerOf, end } from './child.js'
import type { Random } from './random.js'

export type Stats = { keys: number; watches: number; connections: number; watched: [client: string, keys: string[]][] }

const START_TIMEOUT = 15_000
const ANSWER_TIMEOUT = 5_000

/**
 * Runs the store in a child process, kills it and starts it again on the same ports, empty or with what it has kept.
 */
export class Supervisor {
  /** How many stores were killed. */
  kills = 0
  #directory
  #ports
  #complain
  #data
  #child: ChildProcess | undefined

  /**
   * @param directory - for the journals
   * @param data - where the store keeps its keys; '' for one that keeps nothing
   */
  constructor(
    directory: string,
    ports: { port: number; wsPort: number },
    complain: (what: string) => void,
    data: string,
  ) {
    this.#directory = directory
    this.#ports = ports
    this.#complain = complain
    this.#data = data
  }

  /** Who was killed, and how often. */
  get deaths(): [string, number][] {
    return [['broker kills', this.kills]]
  }

  /** One journal for each store. */
  get journals() {
    return Array.from({ length: this.kills + 1 }, (_, life) => join(this.#directory, `journal-${life}.jsonl`))
  }

  async start() {
    const { port, wsPort } = this.#ports
    const args = [port, wsPort, this.journals.at(-1), this.#data].map(String)
    const child = fork(new URL('./store-process.js', import.meta.url).pathname, args, { execArgv: [] })
    this.#child = child
    child.on('exit', (code, signal) => {
      if (child === this.#child) this.#complain(`the store ended by itself (code ${code}, signal ${signal})`)
    })
    await answerOf(child, START_TIMEOUT)
  }

  /** Kills the store without a warning. Resolves when the process is gone. */
  async kill() {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    this.kills++
    await end(child)
  }

  async stats(): Promise<Stats> {
    if (this.#child === undefined) throw new Error('The store is down')
    const answer = answerOf(this.#child, ANSWER_TIMEOUT)
    this.#child.send('stats')
    return ((await answer) as { stats: Stats }).stats
  }

  /** Ends the last store; not counted as a kill. */
  async stop() {
    const child = this.#child
    this.#child = undefined
    if (child) await end(child)
  }
}

/** Two free ports; see {@link freeNumbers}. */
export async function freePorts(random: Random) {
  const [port = 0, wsPort = 0] = await freeNumbers(random, 2)
  return { port, wsPort }
}

/**
 * Free ports below those the system gives to outgoing connections: while the store is down, a client that dials its port
 * could otherwise be given that very port as its own, and talk to itself.
 */
export async function freeNumbers(random: Random, count: number) {
  const found: number[] = []
  for (let tries = 0; tries < 50 * count && found.length < count; tries++) {
    const port = random.int(20_000, 30_000)
    if (!found.includes(port) && (await isFree(port))) found.push(port)
  }
  if (found.length < count) throw new Error('Found no free port between 20000 and 30000')
  return found
}

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
