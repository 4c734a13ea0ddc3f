import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { end } from '../child.js'

/** How long a process that was asked to end may take, ms. */
const GRACE = 20_000

/** A process that is killed, stopped and started again. */
export class Process {
  /** For messages to people. */
  readonly name
  /** Whether it stands still. */
  isPaused = false
  #start
  #complain
  #child: ChildProcess | undefined
  #starting: Promise<void> | undefined

  /** @param start - settles when it does its work */
  constructor(name: string, start: () => Promise<ChildProcess>, complain: (what: string) => void) {
    this.name = name
    this.#start = start
    this.#complain = complain
    process.on('exit', () => this.#child?.kill('SIGKILL'))
  }

  get child() {
    return this.#child
  }

  /** Starts it, unless it runs; settles when it does its work. */
  start(): Promise<void> {
    this.go()
    if (this.#child !== undefined) return Promise.resolve()
    this.#starting ??= this.#begin().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #begin() {
    const child = await this.#start()
    this.#child = child
    const ended = () => {
      if (child !== this.#child) return
      this.#child = undefined
      this.#complain(`${this.name} ended by itself (code ${child.exitCode}, signal ${child.signalCode})`)
    }
    child.once('exit', ended)
    if (child.exitCode !== null || child.signalCode !== null) ended()
  }

  /** Ends it without a warning, as a power cut does. */
  async kill() {
    const child = this.#child
    this.#child = undefined
    this.isPaused = false
    if (child) await end(child)
  }

  /** Asks it to end. */
  async terminate() {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    this.#go(child)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const late = setTimeout(() => {
      this.#complain(`${this.name} did not end within ${GRACE} ms of SIGTERM`)
      child.kill('SIGKILL')
    }, GRACE)
    await ended
    clearTimeout(late)
    if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL')
      this.#complain(`${this.name} ended with code ${child.exitCode} after SIGTERM`)
  }

  /** Lets it stand still: its connections stay open. */
  pause() {
    this.isPaused = this.#child?.kill('SIGSTOP') ?? false
  }

  /** Lets it go on. */
  go() {
    if (this.#child) this.#go(this.#child)
  }

  #go(child: ChildProcess) {
    if (this.isPaused) child.kill('SIGCONT')
    this.isPaused = false
  }
}
