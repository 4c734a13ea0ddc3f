import { jetStreamLog } from 'rx-statestore/jetstream'
import { firstValueFrom } from 'rxjs'
import { Follower } from '../../dist/server/log/cluster/follower.js'
import { now } from '../now.js'
import { until } from '../pace.js'
import { Recorder } from '../recorder.js'

/** How long the rest of the stream may take, ms. */
const PATIENCE = 20_000
/** A stream that stalls is found out by looking at it, as nodes do, ms. */
const LOOK = 500

/**
 * Reads the log of a store while it is written, and before it is trimmed, past all cables, and keeps it in a file: what the
 * nodes did has to be what it comes to.
 */
export class Audit {
  #path
  #recorder
  #complaints
  #position = 0
  /** @type {import('../../dist/server/log/cluster/stream.js').Stream | undefined} */
  #stream
  /** @type {Follower | undefined} */
  #follower
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** @type {string | undefined} */
  #leader

  /**
   * @param {string} path - of the file
   * @param {import('../complaints.js').Complaints} complaints
   */
  constructor(path, complaints) {
    this.#path = path
    this.#recorder = new Recorder(path)
    this.#complaints = complaints
  }

  get path() {
    return this.#path
  }

  /** How far it has come, in messages. */
  get position() {
    return this.#position
  }

  /** Who led the stream when it was asked last. */
  get leader() {
    return this.#leader
  }

  /**
   * @param {string} name - of the store
   * @param {readonly number[]} ports - of the servers
   */
  async start(name, ports) {
    const servers = ports.map(port => `nats://127.0.0.1:${port}`)
    const stream = await firstValueFrom(jetStreamLog({ servers, name, nodeId: 'audit' }).connect())
    this.#stream = stream
    const follower = new Follower(stream, {
      clock: { schedule: (delay, task) => later(delay, task), now: Date.now, monotonic: now },
      random: Math.random,
      position: () => this.#position,
      take: message => this.#take(message),
      troubled: () => undefined,
    })
    this.#follower = follower
    follower.start()
    this.#timer = setInterval(() => {
      follower.look()
      this.#look()
    }, LOOK)
  }

  /** Reads the rest, and ends. */
  async stop() {
    const stream = this.#stream
    if (stream === undefined) return
    const { last } = await firstValueFrom(stream.bounds())
    this.#follower?.knows(last)
    if (!(await until(PATIENCE, () => this.#position >= last)))
      this.#complaints.add('audit', `read ${this.#position} of ${last} messages of the log`)
    clearInterval(this.#timer)
    this.#follower?.stop()
    await new Promise(resolve => stream.close().subscribe({ complete: () => resolve(undefined), error: resolve }))
    this.#recorder.close()
  }

  /** @param {import('../../dist/server/log/cluster/stream.js').StreamMessage} message */
  #take({ position, time, bytes }) {
    if (position <= this.#position) return
    if (position > this.#position + 1)
      this.#complaints.add('audit', `message ${position} of the log came behind ${this.#position}`)
    this.#position = position
    this.#recorder.write([position, time, Buffer.from(bytes).toString('base64')])
  }

  #look() {
    this.#stream?.bounds().subscribe({
      next: ({ last, leader }) => {
        this.#follower?.knows(last)
        this.#leader = leader
      },
      // Without a leader nobody answers; that is what incidents are for.
      error: () => {
        this.#leader = undefined
      },
    })
  }
}

/**
 * @param {number} delay
 * @param {() => void} task
 */
function later(delay, task) {
  const timer = setTimeout(task, delay)
  return () => clearTimeout(timer)
}
