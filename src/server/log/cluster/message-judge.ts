import { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { LogEntry } from '../../engine/entry.js'
import { decodeEntry } from '../entry-codec.js'
import { divergedError } from './errors.js'
import { decodeNodeMessage, type LogKeys, type NodeMessage } from './node-message.js'
import { NodeTable } from './node-table.js'
import { decodeSnapshotRecord, SnapshotCoordinator, type SnapshotRecord } from './snapshot-coordinator.js'
import { StateDigest } from './state-digest.js'
import type { StreamMessage } from './stream.js'
import { SigningPolicy } from './trust.js'

export type MessageVerdict =
  /** The message is malformed, or no node sent it. */
  | { readonly type: 'foreign'; readonly reason: string }
  /** The message is out of order or a repetition. */
  | { readonly type: 'refused'; readonly nodeMessage: NodeMessage }
  /** The message counts as a piece of an entry that is not complete yet. */
  | { readonly type: 'piece'; readonly nodeMessage: NodeMessage; readonly signer: string | undefined }
  | {
      readonly type: 'entry'
      readonly nodeMessage: NodeMessage
      /** The fingerprint of the key that signed the message, if this node has that key. */
      readonly signer: string | undefined
      /** The log time in ms. */
      readonly time: number
      /** The encoded entry, or `undefined` if it has no commands. */
      readonly body: Uint8Array | undefined
      /** Whether a claim is granted, so that the claiming node writes the snapshot. */
      readonly isGranted: boolean
    }

export interface JudgeOptions {
  /**
   * The keys that verify signatures. Default: none, so that every client that may publish to the log counts as a node.
   */
  readonly keys?: LogKeys | undefined
  /** The positions of messages that an operator makes all nodes ignore. */
  readonly skip?: ReadonlySet<number> | undefined
}

/** The limits of an entry without commands. */
const NO_LIMITS = { maxKeys: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }

/**
 * Makes all decisions on messages that all nodes must make alike, except those of the engine: which messages count, at
 * what time, and whether the nodes agree. The decisions depend only on the messages, not on local clocks or the
 * network.
 */
export class MessageJudge {
  readonly nodes = new NodeTable()
  readonly snapshots = new SnapshotCoordinator()
  readonly signingPolicy: SigningPolicy
  readonly #options: JudgeOptions
  digest = new StateDigest()
  #clock = new LogClock()
  #position = 0

  constructor(options: JudgeOptions = {}) {
    this.#options = options
    this.signingPolicy = new SigningPolicy(options.keys)
  }

  get position(): number {
    return this.#position
  }

  /** The time of the last entry, in ms since the Unix epoch. */
  get time(): number {
    return this.#clock.lastTime
  }

  /** Judges the next message. Throws `diverged`, `format` or `log-key` if this node has to stop. */
  judge({ position, time: streamTime, bytes }: StreamMessage): MessageVerdict {
    this.snapshots.countMessage(bytes.length)
    const { keys, skip } = this.#options
    if (skip?.has(position)) return { type: 'foreign', reason: '--log-skip excludes it' }
    const decoded = decodeNodeMessage(bytes, keys)
    const admitted = this.signingPolicy.admit(decoded, position)
    if ('foreign' in admitted) return { type: 'foreign', reason: admitted.foreign }
    const { nodeMessage } = admitted
    const { kind, node, appliedPosition } = nodeMessage
    if (appliedPosition >= position)
      return { type: 'foreign', reason: 'it refers to a later position and so belongs to another stream' }
    const isFirst = this.nodes.size === 0
    const isSignedOnly = this.signingPolicy.signedSince !== undefined
    const time = Math.max(this.time, streamTime)
    if (!this.nodes.accept(nodeMessage, { position, time, isSignedOnly })) return { type: 'refused', nodeMessage }
    const signer = decoded?.signer
    // If the first message of a log is signed, no node has ever sent an unsigned message.
    if (kind === 'signed-only' || (isFirst && decoded?.type === 'message' && decoded.isSigned))
      this.signingPolicy.requireSignatures(position, signer)
    // The digest in the first message of an epoch is not compared, because only later messages confirm that the first
    // message comes from the node.
    const known = kind === 'start' ? undefined : this.digest.at(appliedPosition)
    if (known !== undefined && known !== nodeMessage.digest) throw divergedError(node, appliedPosition, position)
    if (kind === 'piece') return { type: 'piece', nodeMessage, signer }
    return { ...this.#entry(nodeMessage, position, this.#clock.advance(streamTime)), signer }
  }

  /** Completes a position after its message was applied. */
  finishPosition(position: number): void {
    this.#position = position
    this.digest.finishPosition(position, this.time)
  }

  /** Encodes the shared state for a snapshot at this position, except the engine's state. */
  encode(): Uint8Array {
    const writer = new ByteWriter()
    const { streamTime, time } = this.#clock.state
    for (const number of [this.#position, this.digest.value, streamTime, time]) writer.float64(number)
    this.nodes.encode(writer)
    this.snapshots.encode(writer)
    this.signingPolicy.encode(writer)
    writer.float64(this.nodes.lastRemovalPosition)
    return writer.done()
  }

  /** Restores the encoded state. Throws `damaged` or `log-key`. */
  decode(bytes: Uint8Array): void {
    const reader = new ByteReader(bytes)
    const [position, digest, streamTime, time] = [
      reader.float64(),
      reader.float64(),
      reader.float64(),
      reader.float64(),
    ]
    this.nodes.decode(reader)
    this.snapshots.decode(reader)
    // A state written by a version without keys ends here.
    this.signingPolicy.decode(reader)
    if (!reader.isAtEnd) this.nodes.lastRemovalPosition = reader.float64()
    this.#position = position
    this.#clock = new LogClock({ streamTime, time })
    this.digest = new StateDigest(digest, position)
  }

  #entry(nodeMessage: NodeMessage, position: number, time: number): Omit<MessageVerdict & { type: 'entry' }, 'signer'> {
    const { kind, node } = nodeMessage
    const isGranted = kind === 'claim' && this.snapshots.claim(node, position, time)
    if (kind === 'written') {
      const snapshot = tryDecodeSnapshotRecord(nodeMessage.body)
      // A snapshot with a position ahead of the log would cause trimming of messages that it does not cover.
      if (snapshot !== undefined && snapshot.position < position) this.snapshots.recordSnapshot(snapshot)
    }
    const body = kind === 'entry' ? this.nodes.takeEntryBody(nodeMessage) : undefined
    return { type: 'entry', nodeMessage, time, body, isGranted }
  }
}

function tryDecodeSnapshotRecord(body: Uint8Array): SnapshotRecord | undefined {
  try {
    return decodeSnapshotRecord(new ByteReader(body))
  } catch (error) {
    if (error instanceof StateStoreError) return undefined
    throw error
  }
}

/**
 * Decodes an entry of another node.
 *
 * @param time - log time, ms
 */
export const decodeNodeEntry = (body: Uint8Array | undefined, time: number): LogEntry =>
  body === undefined || body.length === 0 ? { time, ...NO_LIMITS, commands: [] } : { ...decodeEntry(body), time }

/** The divisor of the elapsed time by which log time advances more slowly while it is ahead of stream time. */
const SLOWDOWN_DIVISOR = 8

export interface LogClockState {
  /** The stream time of the last message, in ms since the Unix epoch. */
  readonly streamTime: number
  /** The time of the last entry, in ms since the Unix epoch. It is fractional while a difference is being corrected. */
  readonly time: number
}

/**
 * Provides the time of entries, which follows the stream's time but never decreases. Stream time jumps with the clock
 * of the stream leader. If it jumped back by an hour and log time waited for it to catch up, every lease would last an
 * hour longer. Instead, log time advances an eighth more slowly until both times agree.
 */
export class LogClock {
  #streamTime: number
  #time: number

  constructor({ streamTime, time }: LogClockState = { streamTime: 0, time: 0 }) {
    this.#streamTime = streamTime
    this.#time = time
  }

  get lastTime(): number {
    return Math.floor(this.#time)
  }

  get state(): LogClockState {
    return { streamTime: this.#streamTime, time: this.#time }
  }

  /**
   * Advances to the time of the next entry and returns that time.
   *
   * @param streamTime - stream time of the entry, ms
   */
  advance(streamTime: number): number {
    const passed = Math.max(0, streamTime - this.#streamTime)
    const ahead = Math.max(0, this.#time - this.#streamTime)
    this.#time += passed - Math.min(ahead, passed / SLOWDOWN_DIVISOR)
    this.#streamTime = streamTime
    // Both times agree again, so the remaining fraction is removed.
    if (this.#time < streamTime) this.#time = streamTime
    return this.lastTime
  }
}
