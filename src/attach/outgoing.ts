import { Fifo } from '../base/fifo.js'
import type { ConnectionInfo, Done, ServiceSession } from '../mqtt/session.js'
import type { Publish } from '../packet/publish.js'

/** A message, and who is told of its PUBACK. */
interface Parcel {
  readonly message: Publish
  readonly done: Done
  readonly bytes: number
  readonly retain: boolean
}

/** What waits may have so many bytes; from half of it on no more requests are taken. */
const MOST_BYTES = 64 * 1024 * 1024
/** What a message takes besides its payload, generously, bytes. */
const OVERHEAD = 500

/**
 * Answers and notifications on their way to the broker, in their order: never more unacknowledged than it takes, and those
 * that had no PUBACK once more when the connection is back and the broker kept the session. They have new packet ids then,
 * which a broker cannot tell from others: it keeps none of QoS 1.
 */
export class Outgoing {
  readonly #session: Pick<ServiceSession, 'publish' | 'sizeOf'>
  readonly #drained: () => void
  readonly #waiting = new Fifo<Parcel>()
  /** Sent and not acknowledged, in the order in which they were sent. */
  #sent = new Set<Parcel>()
  #bytes = 0
  #connection: ConnectionInfo | undefined
  #epoch = 0
  #lost = false

  /** @param drained - called when there is room for more after there was little */
  constructor(session: Pick<ServiceSession, 'publish' | 'sizeOf'>, drained: () => void) {
    this.#session = session
    this.#drained = drained
  }

  /** Whether nothing should be asked for that makes more of it. */
  get isBusy(): boolean {
    return this.#bytes > MOST_BYTES / 2
  }

  /** Whether something was dropped since this was asked last, so that watchers do not know what they should. */
  takeLost(): boolean {
    const lost = this.#lost
    this.#lost = false
    return lost
  }

  /** Publishes, in turn. `done` is told of the PUBACK, or that the message was dropped. */
  push(message: Publish, done: Done, retain = false): void {
    const bytes = message.payload.length + OVERHEAD
    if (this.#bytes + bytes > MOST_BYTES) {
      this.#lost = true
      done(undefined)
      return
    }
    this.#bytes += bytes
    this.#waiting.push({ message, done, bytes, retain })
    this.#flush()
  }

  /** The connection is there. What was sent before goes once more, unless the broker has lost the session. */
  connected(info: ConnectionInfo): void {
    this.#connection = info
    const again = Array.from(this.#sent)
    this.#sent = new Set()
    if (!info.sessionPresent) {
      for (const { bytes } of again) this.#bytes -= bytes
    } else for (const parcel of again) this.#send(parcel, info)
    this.#flush()
  }

  disconnected(): void {
    this.#connection = undefined
    this.#epoch++
  }

  #flush(): void {
    const connection = this.#connection
    if (connection === undefined) return
    while (this.#sent.size < connection.receiveMaximum) {
      const parcel = this.#waiting.shift()
      if (parcel === undefined) return
      this.#send(parcel, connection)
    }
  }

  #send(parcel: Parcel, { maximumPacketSize }: ConnectionInfo): void {
    const { message, done, bytes, retain } = parcel
    if (maximumPacketSize !== undefined && this.#session.sizeOf(message) > maximumPacketSize) {
      this.#bytes -= bytes
      done(undefined)
      return
    }
    this.#sent.add(parcel)
    const epoch = this.#epoch
    const acknowledged: Done = refusal => {
      if (epoch !== this.#epoch || !this.#sent.delete(parcel)) return
      const wasBusy = this.isBusy
      this.#bytes -= bytes
      done(refusal)
      this.#flush()
      if (wasBusy && !this.isBusy) this.#drained()
    }
    this.#session.publish(message, acknowledged, retain)
  }
}
