import { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { LogEntry } from '../../engine/entry.js'
import { decodeEntry } from '../entry-codec.js'
import { diverged } from './errors.js'
import { decodeEnvelope, type LogKeys, type NodeMessage } from './node-message.js'
import { NodeTable } from './node-table.js'
import { decodeSnapshotRecord, SnapshotCoordinator, type SnapshotRecord } from './snapshot-coordinator.js'
import { StateDigest } from './state-digest.js'
import type { StreamMessage } from './stream.js'
import { Trust } from './trust.js'

/** What a message of the stream comes to. */
export type MessageVerdict =
  /** No node has sent it, or not so. */
  | { readonly type: 'foreign'; readonly why: string }
  /** It is out of the order of its node, or was there before. */
  | { readonly type: 'refused'; readonly envelope: NodeMessage }
  /** It counts, and more is to come before there is an entry. */
  | { readonly type: 'piece'; readonly envelope: NodeMessage; readonly signer: string | undefined }
  | {
      readonly type: 'entry'
      readonly envelope: NodeMessage
      /** The fingerprint of the key that has signed it, if this node has that. */
      readonly signer: string | undefined
      /** Of the log, ms. */
      readonly time: number
      /** Its commands as bytes; `undefined` for none. */
      readonly body: Uint8Array | undefined
      /** Of a claim: whether its node is the one to write the snapshot. */
      readonly granted: boolean
    }

/** How a node judges messages. */
export interface Judging {
  /** Default none: whoever may send to the log counts as a node. */
  readonly keys?: LogKeys | undefined
  /** Positions of messages that an operator has all nodes leave out. */
  readonly skip?: ReadonlySet<number> | undefined
}

/** Bounds of what has no commands. */
const NO_ROOM = { maxKeys: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }

/**
 * What all nodes decide alike about the messages of a stream, beside the engine: which of them count, at what time, and
 * whether nodes have come to the same. It knows no time and no network but that of the messages.
 */
export class MessageJudge {
  readonly nodes = new NodeTable()
  readonly snapshots = new SnapshotCoordinator()
  readonly trust: Trust
  readonly #judging: Judging
  digest = new StateDigest()
  #time = new LogClock()
  #position = 0

  constructor(judging: Judging = {}) {
    this.#judging = judging
    this.trust = new Trust(judging.keys)
  }

  /** Of the last message. */
  get position(): number {
    return this.#position
  }

  /** Of the last entry, ms since the Unix epoch. */
  get time(): number {
    return this.#time.last
  }

  /** Judges the next message. Raises `diverged`, `format` or `log-key`, and then this node has to stop. */
  judge({ position, time: streamTime, bytes }: StreamMessage): MessageVerdict {
    this.snapshots.count(bytes.length)
    const { keys, skip } = this.#judging
    if (skip?.has(position)) return { type: 'foreign', why: 'it is left out, as --log-skip says' }
    const decoded = decodeEnvelope(bytes, keys)
    const admitted = this.trust.admit(decoded, position)
    if ('foreign' in admitted) return { type: 'foreign', why: admitted.foreign }
    const { envelope } = admitted
    const { kind, node, applied } = envelope
    if (applied >= position) return { type: 'foreign', why: 'it is of another stream' }
    const isFirst = this.nodes.size === 0
    const isSignedOnly = this.trust.since !== undefined
    const time = Math.max(this.time, streamTime)
    if (!this.nodes.take(envelope, { position, time, isSignedOnly })) return { type: 'refused', envelope }
    const signer = decoded?.signer
    // A log in which the first of all signs never had anybody who does not.
    if (kind === 'signed-only' || (isFirst && decoded?.type === 'message' && decoded.signed))
      this.trust.begin(position, signer)
    // The first message of a life is believed to be of a node by what comes behind it.
    const known = kind === 'start' ? undefined : this.digest.at(applied)
    if (known !== undefined && known !== envelope.digest) throw diverged(node, applied, position)
    if (kind === 'piece') return { type: 'piece', envelope, signer }
    return { ...this.#entry(envelope, position, this.#time.next(streamTime)), signer }
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
    this.nodes.encode(writer)
    this.snapshots.encode(writer)
    this.trust.encode(writer)
    writer.float64(this.nodes.forgottenAt)
    return writer.done()
  }

  /** Takes back what was encoded. Raises `damaged` and `log-key`. */
  decode(bytes: Uint8Array): void {
    const reader = new ByteReader(bytes)
    const [position, digest, stream, time] = [reader.float64(), reader.float64(), reader.float64(), reader.float64()]
    this.nodes.decode(reader)
    this.snapshots.decode(reader)
    // Of a version without keys it ends here.
    this.trust.decode(reader)
    if (!reader.ended) this.nodes.forgottenAt = reader.float64()
    this.#position = position
    this.#time = new LogClock({ stream, time })
    this.digest = new StateDigest(digest, position)
  }

  #entry(envelope: NodeMessage, position: number, time: number): Omit<MessageVerdict & { type: 'entry' }, 'signer'> {
    const { kind, node } = envelope
    const granted = kind === 'claim' && this.snapshots.claim(node, position, time)
    if (kind === 'written') {
      const snapshot = snapshotIn(envelope.body)
      // One that is ahead would have the log trimmed without a snapshot of it.
      if (snapshot !== undefined && snapshot.position < position) this.snapshots.written(snapshot)
    }
    const body = kind === 'entry' ? this.nodes.bodyOf(envelope) : undefined
    return { type: 'entry', envelope, time, body, granted }
  }
}

function snapshotIn(body: Uint8Array): SnapshotRecord | undefined {
  try {
    return decodeSnapshotRecord(new ByteReader(body))
  } catch (error) {
    if (error instanceof StateStoreError) return undefined
    throw error
  }
}

/** An entry of another node, at a time of the log (ms). */
export const entryOf = (body: Uint8Array | undefined, time: number): LogEntry =>
  body === undefined || body.length === 0 ? { time, ...NO_ROOM, commands: [] } : { ...decodeEntry(body), time }

/** Of the time that passes, so much is left out while the log's time is ahead of the stream's. */
const SLOWER = 8

/** Where the log's time is; goes with a snapshot. */
export interface LogClockState {
  /** Of the last message, by the stream, ms since the Unix epoch. */
  readonly stream: number
  /** Of the last entry, ms since the Unix epoch; with a fraction while it is being put right. */
  readonly time: number
}

/**
 * The time of entries: that of the stream, but it never goes back, and goes on when that does. The stream's jumps with the
 * clock of whoever leads it. If it went back by an hour, and the log's time stood still until it has caught up, every lease
 * would last an hour longer; so it goes on from where it was, an eighth slower until the two are the same again.
 */
export class LogClock {
  #stream: number
  #time: number

  constructor({ stream, time }: LogClockState = { stream: 0, time: 0 }) {
    this.#stream = stream
    this.#time = time
  }

  /** Of the last entry, ms. */
  get last(): number {
    return Math.floor(this.#time)
  }

  get state(): LogClockState {
    return { stream: this.#stream, time: this.#time }
  }

  /** The time of the next entry, which the stream took at its time (ms). */
  next(stream: number): number {
    const passed = Math.max(0, stream - this.#stream)
    const ahead = Math.max(0, this.#time - this.#stream)
    this.#time += passed - Math.min(ahead, passed / SLOWER)
    this.#stream = stream
    // What is left of a fraction ends with the difference.
    if (this.#time < stream) this.#time = stream
    return this.last
  }
}
