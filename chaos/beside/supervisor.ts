import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { answerOf, end } from '../child.js'
import { Link } from '../proxy.js'
import type { Random } from '../random.js'
import type { Stats } from '../supervisor.js'
import { Mosquitto } from './mosquitto.js'

const START_TIMEOUT = 15_000
const ANSWER_TIMEOUT = 5_000

/** Runs a broker of others and the store beside it, with a cable between the two; kills the one, the other, or both. */
export class Supervisor {
  /** Between the store and the broker. */
  link
  #directory
  #random
  #complain
  #broker
  #url = ''
  #lives = 0
  #kills = 0
  #isBrokerUp = false
  #child: ChildProcess | undefined

  /** @param directory - for the journals and the keys */
  constructor(
    directory: string,
    ports: { port: number; wsPort: number },
    complain: (what: string) => void,
    random: Random,
  ) {
    this.#directory = directory
    this.#random = random
    this.#complain = complain
    this.#broker = new Mosquitto(join(directory, 'mosquitto.conf'), ports, complain)
    this.link = new Link(ports.port, random.fork())
  }

  get kills() {
    return this.#kills + this.#broker.kills
  }

  /** Who was killed, and how often. */
  get deaths(): [string, number][] {
    return [
      ['broker kills', this.#broker.kills],
      ['service kills', this.#kills],
    ]
  }

  /** One journal for each process of the store. */
  get journals() {
    return Array.from({ length: this.#lives }, (_, life) => this.#journal(life))
  }

  /** Starts what is not there. */
  async start() {
    if (this.#url === '') this.#url = `mqtt://127.0.0.1:${await this.link.listen()}`
    const starts = [this.#isBrokerUp ? undefined : this.#broker.start(), this.#child ? undefined : this.#serve()]
    this.#isBrokerUp = true
    await Promise.all(starts)
  }

  /** Kills the broker, the store, or both. */
  async kill() {
    const dice = this.#random.next()
    const ends = []
    if (dice < 0.6) {
      this.#isBrokerUp = false
      ends.push(this.#broker.kill())
    }
    if (dice > 0.3) {
      this.#kills++
      ends.push(this.#endStore())
    }
    await Promise.all(ends)
  }

  async stats(): Promise<Stats> {
    if (this.#child === undefined) throw new Error('The store is down')
    const answer = answerOf(this.#child, ANSWER_TIMEOUT)
    this.#child.send('stats')
    return ((await answer) as { stats: Stats }).stats
  }

  async stop() {
    await Promise.all([this.#endStore(), this.#broker.stop()])
    await this.link.close()
  }

  async #serve() {
    const args = [this.#url, this.#journal(this.#lives++), join(this.#directory, 'data')]
    const child = fork(new URL('./service-process.js', import.meta.url).pathname, args, { execArgv: [] })
    this.#child = child
    child.on('exit', (code, signal) => {
      if (child === this.#child) this.#complain(`the store ended by itself (code ${code}, signal ${signal})`)
    })
    await answerOf(child, START_TIMEOUT)
  }

  async #endStore() {
    const child = this.#child
    this.#child = undefined
    if (child) await end(child)
  }

  #journal(life: number) {
    return join(this.#directory, `journal-${life}.jsonl`)
  }
}
