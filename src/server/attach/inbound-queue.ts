import type { InboundMessage } from '../../client/session/session.js'
import { Fifo } from '../../core/util/collections.js'
import { unlessRunning } from '../../core/util/deferred-tasks.js'
import { messageSize } from './message-size.js'

interface InboundEntry {
  readonly packetId: number
  isDone: boolean
}

interface QueuedMessage {
  readonly message: InboundMessage
  readonly bytes: number
  readonly done: () => void
}

/** The limit on queued messages. Messages beyond the limit are dropped. */
const MAX_QUEUED_BYTES = 128 * 1024 * 1024

/**
 * Acknowledges handled messages in the order of their arrival (MQTT 5.0, section 4.6). The broker redelivers
 * unacknowledged messages after an interruption. Queues messages while `isOpen` returns false.
 */
export class InboundQueue {
  readonly #acknowledge: (packetId: number) => void
  readonly #isOpen: () => boolean
  readonly #handle: (message: InboundMessage, done: () => void) => void
  readonly #queued = new Fifo<QueuedMessage>()
  #unacknowledged = new Fifo<InboundEntry>()
  #bytes = 0
  #onIdle: (() => void) | undefined

  constructor(
    acknowledge: (packetId: number) => void,
    isOpen: () => boolean,
    handle: (message: InboundMessage, done: () => void) => void,
  ) {
    this.#acknowledge = acknowledge
    this.#isOpen = isOpen
    this.#handle = handle
  }

  push(message: InboundMessage): void {
    const done = this.#track(message)
    if (this.#queued.length === 0 && this.#isOpen()) {
      this.#handle(message, done)
      return
    }
    const bytes = messageSize(message)
    if (this.#bytes + bytes > MAX_QUEUED_BYTES) {
      done()
      return
    }
    this.#bytes += bytes
    this.#queued.push({ message, bytes, done })
  }

  skip(message: InboundMessage): void {
    this.#track(message)()
  }

  /** Handles queued messages. Handling a message may make room for the next one. */
  readonly resume = unlessRunning(() => {
    while (this.#isOpen()) {
      const next = this.#queued.shift()
      if (next === undefined) return
      this.#bytes -= next.bytes
      this.#handle(next.message, next.done)
    }
  })

  /** Runs a task when every message is acknowledged. If the connection is lost first, the task never runs. */
  whenIdle(task: () => void): void {
    this.#onIdle = task
    this.#acknowledgeDone()
  }

  /** Forgets all messages after a disconnect, because the broker redelivers them. */
  clear(): void {
    this.#unacknowledged = new Fifo()
    this.#queued.clear()
    this.#onIdle = undefined
    this.#bytes = 0
  }

  #track({ packetId = 0, qos = 0 }: InboundMessage): () => void {
    if (qos === 0) return () => undefined
    const unacknowledged = this.#unacknowledged
    const entry = { packetId, isDone: false }
    unacknowledged.push(entry)
    return () => {
      entry.isDone = true
      // Messages of a previous connection must not be acknowledged on the current connection.
      if (unacknowledged === this.#unacknowledged) this.#acknowledgeDone()
    }
  }

  #acknowledgeDone(): void {
    while (this.#unacknowledged.peek()?.isDone) {
      const entry = this.#unacknowledged.shift()
      if (entry) this.#acknowledge(entry.packetId)
    }
    if (this.#unacknowledged.length > 0) return
    const onIdle = this.#onIdle
    this.#onIdle = undefined
    onIdle?.()
  }
}
