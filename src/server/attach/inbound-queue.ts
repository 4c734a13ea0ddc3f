import type { InboundMessage } from '../../client/session/session.js'
import { Fifo } from '../../core/util/collections.js'

/** A message that came. */
interface Taken {
  readonly packetId: number
  isDone: boolean
}

/** What waits to be dealt with may have so many bytes; what comes on top is dropped. */
const MOST_BYTES = 128 * 1024 * 1024

/**
 * Messages of the broker, which are acknowledged when they are dealt with, in the order in which they came (MQTT 5.0, section
 * 4.6): what is not acknowledged comes again after a cut. They wait as long as `isOpen` says no.
 */
export class InboundQueue {
  readonly #acknowledge: (packetId: number) => void
  readonly #isOpen: () => boolean
  readonly #deal: (message: InboundMessage, done: () => void) => void
  readonly #held = new Fifo<{ readonly message: InboundMessage; readonly done: () => void }>()
  #order = new Fifo<Taken>()
  #bytes = 0
  #idle: (() => void) | undefined

  constructor(
    acknowledge: (packetId: number) => void,
    isOpen: () => boolean,
    deal: (message: InboundMessage, done: () => void) => void,
  ) {
    this.#acknowledge = acknowledge
    this.#isOpen = isOpen
    this.#deal = deal
  }

  take(message: InboundMessage): void {
    const done = this.#note(message)
    if (this.#held.length === 0 && this.#isOpen()) this.#deal(message, done)
    else if (this.#bytes + message.payload.length > MOST_BYTES) done()
    else {
      this.#bytes += message.payload.length
      this.#held.push({ message, done })
    }
  }

  /** Takes a message with which there is nothing to do. */
  skip(message: InboundMessage): void {
    this.#note(message)()
  }

  /** Goes on with what waits. */
  resume(): void {
    while (this.#isOpen()) {
      const next = this.#held.shift()
      if (next === undefined) return
      this.#bytes -= next.message.payload.length
      this.#deal(next.message, next.done)
    }
  }

  /** Runs a task when everything that came is acknowledged; not when the connection is lost before that. */
  whenIdle(task: () => void): void {
    this.#idle = task
    this.#release()
  }

  /** The connection is gone: what was not acknowledged comes again. */
  clear(): void {
    this.#order = new Fifo()
    this.#held.clear()
    this.#idle = undefined
    this.#bytes = 0
  }

  #note({ packetId = 0, qos = 0 }: InboundMessage): () => void {
    if (qos === 0) return () => undefined
    const order = this.#order
    const taken = { packetId, isDone: false }
    order.push(taken)
    return () => {
      taken.isDone = true
      // What came over another connection is not for this one.
      if (order === this.#order) this.#release()
    }
  }

  #release(): void {
    while (this.#order.peek()?.isDone) {
      const taken = this.#order.shift()
      if (taken) this.#acknowledge(taken.packetId)
    }
    if (this.#order.length > 0) return
    const idle = this.#idle
    this.#idle = undefined
    idle?.()
  }
}
