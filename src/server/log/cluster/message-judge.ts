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
  /** The message is not from a node, or is malformed. */
  | { readonly type: 'foreign'; readonly reason: string }
  /** The message is out of order or a repetition. */
  | { readonly type: 'refused'; readonly nodeMessage: NodeMessage }
  /** The message counts as a part of an entry that is not complete yet. */
  | { readonly type: 'piece'; readonly nodeMessage: NodeMessage; readonly signer: string | undefined }
  | {
      readonly type: 'entry'
      readonly nodeMessage: NodeMessage
      /** Fingerprint of the key that signed it, if this node has that key. */
      readonly signer: string | undefined
      /** Log time, ms. */
      readonly time: number
      /** The encoded entry; `undefined` if there are no commands. */
      readonly body: Uint8Array | undefined
      /** For a claim: whether its node is to write the snapshot. */
      readonly isGranted: boolean
    }

export interface JudgeOptions {
  /** Default none: anyone permitted to publish to the log counts as a node. */
  readonly keys?: LogKeys | undefined
  /** Positions of messages that an operator makes all nodes ignore. */
  readonly skip?: ReadonlySet<number> | undefined
}

/** Limits of an entry without commands. */
const NO_LIMITS = { maxKeys: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }

/**
 * Decides everything about messages that all nodes must decide alike, apart from the engine: which ones count, at what
 * time, and whether the nodes agree. It depends only on the messages, not on local clocks or the network.
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

  /** Time of the last entry, ms since the Unix epoch. */
  get time(): number {
    return this.#clock.lastTime
  }

  /** Judges the next message. Raises `diverged`, `format` or `log-key` if this node has to stop. */
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
    // If the first message of a log is signed, no node has ever sent unsigned ones.
    if (kind === 'signed-only' || (isFirst && decoded?.type === 'message' && decoded.isSigned))
      this.signingPolicy.requireSignatures(position, signer)
    // The digest in the first message of an epoch is not compared; later messages confirm that it comes from the node.
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

  /** Encodes the shared state, except for the engine's, for a snapshot at this position. */
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

  /** Restores the encoded state. Raises `damaged` and `log-key`. */
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
    // A state of a version without keys ends here.
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
      // A snapshot ahead of the log would cause trimming beyond its actual coverage.
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

/** Decodes an entry of another node, with a log time (ms). */
export const decodeNodeEntry = (body: Uint8Array | undefined, time: number): LogEntry =>
  body === undefined || body.length === 0 ? { time, ...NO_LIMITS, commands: [] } : { ...decodeEntry(body), time }

/** While log time is ahead of stream time, it advances slower by this fraction of the elapsed time. */
const SLOWDOWN_DIVISOR = 8

export interface LogClockState {
  /** Stream time of the last message, ms since the Unix epoch. */
  readonly streamTime: number
  /** Time of the last entry, ms since the Unix epoch; fractional while a difference is being corrected. */
  readonly time: number
}

/**
 * The time of entries. It follows the stream's time but never goes back. Stream time jumps with the clock of the stream
 * leader. If it jumped back by an hour and log time waited for it to catch up, every lease would last an hour longer.
 * Instead, log time advances an eighth slower until both agree.
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

  /** Advances to the time of the next entry, given its stream time (ms), and returns it. */
  advance(streamTime: number): number {
    const passed = Math.max(0, streamTime - this.#streamTime)
    const ahead = Math.max(0, this.#time - this.#streamTime)
    this.#time += passed - Math.min(ahead, passed / SLOWDOWN_DIVISOR)
    this.#streamTime = streamTime
    // Removes the remaining fraction once both times agree.
    if (this.#time < streamTime) this.#time = streamTime
    return this.lastTime
  }
}
