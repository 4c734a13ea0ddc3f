import { FrameReader, type FrameTaker } from '../packet/frame-reader.js'
import { PACKET, startOfContent, uint16 } from '../packet/layout.js'
import type { InboundPublish } from '../packet/publish.js'
import { PublishDecoder } from '../packet/publish-decoder.js'

/** What it tells. */
interface InboxEvents {
  /** A PUBLISH came; with QoS 1 it wants a PUBACK. Its bytes are views of what was read. */
  published(message: InboundPublish): void
  /** Whether the PUBACK answers a PUBLISH of ours. */
  acknowledged(packetId: number, reasonCode: number): boolean
}

/** A stream into which its source pushes what it reads, as Node's streams and their copies in browsers do. */
interface Source {
  push(chunk: unknown, ...rest: unknown[]): boolean
}

const isSource = (stream: unknown): stream is Source =>
  typeof stream === 'object' && stream !== null && 'push' in stream && typeof stream.push === 'function'

/**
 * Reads messages and their acknowledgements from a stream before mqtt.js does. mqtt.js takes twenty steps and a turn of
 * its queue for a packet, which is half of a busy client's time; here it is read in one go. All else is mqtt.js's.
 */
export class Inbox implements FrameTaker {
  readonly #events: InboxEvents
  #source: Source | undefined
  #decoder = new PublishDecoder()
  /** What came behind CONNACK, until mqtt.js has dealt with it; `undefined` before CONNACK and after that. */
  #held: Uint8Array[] | undefined
  /** Leaves to mqtt.js what is not taken after all. */
  #leave: (frame: Uint8Array) => void = () => undefined

  constructor(events: InboxEvents) {
    this.#events = events
  }

  /** From now on reads what a new connection's stream brings. Throws when it is no stream into which data is pushed. */
  attach(stream: unknown): void {
    if (!isSource(stream)) throw new Error('mqtt.js made a stream without push')
    // Of any size, or small messages would overtake large ones; mqtt.js puts them together as well.
    const frames = new FrameReader(this, Number.POSITIVE_INFINITY)
    const push = stream.push
    this.#source = stream
    this.#decoder = new PublishDecoder()
    this.#held = undefined
    this.#leave = frame => void Reflect.apply(push, stream, [frame])
    stream.push = (chunk, ...rest) => {
      const mine = chunk instanceof Uint8Array && this.#source === stream
      if (!mine) return Reflect.apply(push, stream, [chunk, ...rest])
      let more = true
      for (const piece of frames.read(chunk)) more = Reflect.apply(push, stream, [piece])
      return more
    }
  }

  /** mqtt.js has dealt with CONNACK. */
  ready(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const frame of held) if (!this.take(frame)) this.#leave(frame)
  }

  wants(type: number): boolean {
    return type === PACKET.publish || type === PACKET.puback || type === PACKET.connack
  }

  take(frame: Uint8Array): boolean {
    const type = (frame[0] ?? 0) >> 4
    if (type === PACKET.connack) {
      this.#held = []
      return false
    }
    if (this.#held !== undefined) {
      this.#held.push(frame.slice())
      return true
    }
    return type === PACKET.puback ? this.#puback(frame) : this.#publish(frame)
  }

  /** MQTT 5.0, section 3.4.2.1: no reason code means success. */
  #puback(frame: Uint8Array): boolean {
    const at = startOfContent(frame)
    return frame.length >= at + 2 && this.#events.acknowledged(uint16(frame, at), frame[at + 2] ?? 0)
  }

  #publish(frame: Uint8Array): boolean {
    const message = this.#decoder.decode(frame)
    if (message === undefined) return false
    this.#events.published(message)
    return true
  }
}
