import { ByteReader } from '../base/byte-reader.js'
import { ByteWriter } from '../base/byte-writer.js'
import type { Entry } from '../engine/entry.js'
import { decodeEntry } from '../log/entry-codec.js'
import { Digest } from './digest.js'
import { decodeEnvelope, type Envelope } from './envelope.js'
import { diverged } from './errors.js'
import { LogTime } from './log-time.js'
import { Members } from './members.js'
import { decodeMilestone, Milestones } from './milestones.js'
import type { StreamMessage } from './stream.js'

/** What a message of the stream comes to. */
export type Judged =
  /** No node has sent it, or not so. */
  | { readonly type: 'foreign' }
  /** It is out of the order of its node, or was there before. */
  | { readonly type: 'refused'; readonly envelope: Envelope }
  /** It counts, and more is to come before there is an entry. */
  | { readonly type: 'piece'; readonly envelope: Envelope }
  | {
      readonly type: 'entry'
      readonly envelope: Envelope
      /** Of the log, ms. */
      readonly time: number
      /** Its commands as bytes; `undefined` for none. */
      readonly body: Uint8Array | undefined
      /** Of a claim: whether its node is the one to write the snapshot. */
      readonly granted: boolean
    }

/** Bounds of what has no commands. */
const NO_ROOM = { maxKeys: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }

/**
 * What all nodes decide alike about the messages of a stream, beside the engine: which of them count, at what time, and
 * whether nodes have come to the same. It knows no time and no network but that of the messages.
 */
export class Replica {
  readonly members = new Members()
  readonly milestones = new Milestones()
  digest = new Digest()
  #time = new LogTime()
  #position = 0

  /** Of the last message. */
  get position(): number {
    return this.#position
  }

  /** Of the last entry, ms since the Unix epoch. */
  get time(): number {
    return this.#time.last
  }

  /** Judges the next message. Raises `diverged` or `format`, and then this node has to stop. */
  judge({ position, time: streamTime, bytes }: StreamMessage): Judged {
    this.milestones.count(bytes.length)
    const envelope = decodeEnvelope(bytes)
    // Whoever had applied more than there was is of another stream.
    if (envelope === undefined || envelope.applied >= position) return { type: 'foreign' }
    const known = this.digest.at(envelope.applied)
    if (known !== undefined && known !== envelope.digest) throw diverged(envelope.node, envelope.applied)
    if (!this.members.take(envelope, Math.max(this.time, streamTime))) return { type: 'refused', envelope }
    if (envelope.kind === 'piece') return { type: 'piece', envelope }
    return this.#entry(envelope, position, this.#time.next(streamTime))
  }

  /** What the message at a position has brought is applied. */
  close(position: number): void {
    this.#position = position
    this.digest.close(position, this.time)
  }

  /** All of it but the engine's state, as bytes, for a snapshot at this position. */
  encode(): Uint8Array {
    const writer = new ByteWriter()
    const { stream, time } = this.#time.state
    for (const number of [this.#position, this.digest.value, stream, time]) writer.float64(number)
    this.members.encode(writer)
    this.milestones.encode(writer)
    return writer.done()
  }

  /** Takes back what was encoded. Raises `damaged`. */
  decode(bytes: Uint8Array): void {
    const reader = new ByteReader(bytes)
    const [position, digest, stream, time] = [reader.float64(), reader.float64(), reader.float64(), reader.float64()]
    this.members.decode(reader)
    this.milestones.decode(reader)
    this.#position = position
    this.#time = new LogTime({ stream, time })
    this.digest = new Digest(digest, position)
  }

  #entry(envelope: Envelope, position: number, time: number): Judged {
    const { kind, node } = envelope
    const granted = kind === 'claim' && this.milestones.claim(node, position, time)
    if (kind === 'written') {
      const milestone = decodeMilestone(new ByteReader(envelope.body))
      if (milestone !== undefined) this.milestones.written(milestone)
    }
    const body = kind === 'entry' ? this.members.bodyOf(envelope) : undefined
    return { type: 'entry', envelope, time, body, granted }
  }
}

/** An entry of another node, at a time of the log (ms). */
export const entryOf = (body: Uint8Array | undefined, time: number): Entry =>
  body === undefined || body.length === 0 ? { time, ...NO_ROOM, commands: [] } : { ...decodeEntry(body), time }
