import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import type { Clock } from '../../../core/util/clock.js'
import { ReportLimiter } from '../../../core/util/report-limiter.js'
import {
  foreignMessageError,
  keyMismatchError,
  keyMissingError,
  otherSignerError,
  unknownFormatError,
} from './errors.js'
import type { DecodedMessage, LogKeys, NodeMessage } from './node-message.js'

/** A message accepted from a node, or the reason why no node sent it. */
export type Admitted = { readonly nodeMessage: NodeMessage } | { readonly foreign: string }

/**
 * Decides by signature which messages count. A log starts in a phase in which unsigned messages count. After a
 * `signed-only` message, only messages signed with the key count. The phase is part of the shared state. All nodes must
 * decide alike, so a node that cannot decide stops.
 */
export class SigningPolicy {
  readonly #keys: LogKeys | undefined
  #signedSince: number | undefined
  #fingerprint = ''

  constructor(keys: LogKeys | undefined) {
    this.#keys = keys
  }

  /** The position from which only signed messages count, or `undefined` while unsigned messages also count. */
  get signedSince(): number | undefined {
    return this.#signedSince
  }

  /** Returns whether this node signs with a key that the log does not require yet. */
  get shouldAnnounce(): boolean {
    return this.#keys !== undefined && this.#keys.fingerprint !== this.#fingerprint
  }

  /** Decides whether a message counts. Throws `format` or `log-key` if this node has to stop. */
  admit(decoded: DecodedMessage | undefined, position: number): Admitted {
    if (decoded === undefined) return { foreign: 'it is not from a node, or damaged' }
    const { signer } = decoded
    if (decoded.type === 'unreadable') {
      if (signer !== undefined) throw unknownFormatError(decoded.format, position)
      return { foreign: `it has the format ${decoded.format}, which this version does not read` }
    }
    const { nodeMessage, isSigned } = decoded
    const isAccepted = signer !== undefined || (this.#signedSince === undefined && !(isSigned && this.#keys))
    if (isAccepted) return { nodeMessage }
    // The signer may be a node with another key or not a node at all, which this node cannot determine yet.
    if (this.#signedSince === undefined) throw keyMismatchError(position)
    return {
      foreign: `it claims to be from node ${nodeMessage.node} but is not signed with the key of the log`,
    }
  }

  /**
   * Requires signatures from a position on, as announced by a node. Throws `log-key` if this node cannot verify the
   * announcement.
   */
  requireSignatures(position: number, signer: string | undefined): void {
    if (signer === undefined) throw keyMissingError(position)
    this.#signedSince ??= position
    this.#fingerprint = signer
  }

  encode(writer: ByteWriter): void {
    writer.float64(this.#signedSince ?? 0)
    writer.text(this.#fingerprint)
  }

  /** Restores the encoded state. An empty input comes from a version without keys. Throws `log-key`. */
  decode(reader: ByteReader): void {
    if (reader.isAtEnd) return
    const [signedSince, fingerprint] = [reader.float64(), reader.text()]
    if (signedSince === 0) return
    if (this.#keys === undefined) throw keyMissingError(signedSince)
    if (!this.#keys.hasFingerprint(fingerprint)) throw keyMismatchError(signedSince)
    this.#signedSince = signedSince
    this.#fingerprint = fingerprint
  }
}

/**
 * The time without a message of another signer after which all nodes must have the key, because every node sends a
 * message at least every 3 s.
 */
const QUIET_MS = 15_000
/** The maximum duration of the migration, so that an attacker cannot keep the log open by sending unsigned messages. */
const MAX_MIGRATION_MS = 60 * 60 * 1000
const MAX_REPORTED_NODES = 100

/** Tracks the nodes that do not sign with this node's key while a log migrates to the key. */
export class OtherSigners {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: unknown) => void
  readonly #nodes = new Set<string>()
  #startedAt: number
  #lastSeenAt: number

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: unknown) => void) {
    this.#clock = clock
    this.#report = report
    this.#startedAt = clock.monotonic()
    this.#lastSeenAt = this.#startedAt
  }

  /** Restarts the tracking when this node starts to take part. */
  restart(): void {
    this.#startedAt = this.#clock.monotonic()
    this.#lastSeenAt = this.#startedAt
  }

  /**
   * Returns whether signatures can be required now.
   *
   * @param isFirst - whether unsigned messages still count, because no key is required yet
   */
  canRequireSignatures(isFirst: boolean): boolean {
    const now = this.#clock.monotonic()
    return now - this.#lastSeenAt > QUIET_MS || (isFirst && now - this.#startedAt > MAX_MIGRATION_MS)
  }

  record({ node }: NodeMessage, position: number): void {
    this.#lastSeenAt = this.#clock.monotonic()
    if (this.#nodes.has(node) || this.#nodes.size >= MAX_REPORTED_NODES) return
    this.#nodes.add(node)
    this.#report(otherSignerError(node, position))
  }
}

const REPORT_INTERVAL_MS = 10_000

/**
 * Reports messages that no node sent. The first message is reported immediately, and further messages at most every ten
 * seconds.
 */
export class ForeignMessageReporter {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #limiter: ReportLimiter<undefined>
  readonly #report: (error: unknown) => void
  #withheld: { readonly position: number; readonly why: string } | undefined
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: unknown) => void) {
    this.#clock = clock
    this.#limiter = new ReportLimiter(clock, REPORT_INTERVAL_MS, 1)
    this.#report = report
  }

  add(position: number, why: string): void {
    const earlier = this.#limiter.admit(undefined)
    this.#withheld = earlier === undefined ? { position, why } : undefined
    if (earlier === undefined) return
    this.#reportedAt = this.#clock.monotonic()
    this.#report(foreignMessageError(position, why, earlier))
  }

  /** Reports the last message that was held back if the interval has passed. Called periodically. */
  flush(): void {
    const now = this.#clock.monotonic()
    if (this.#withheld === undefined || now - this.#reportedAt < REPORT_INTERVAL_MS) return
    const { position, why } = this.#withheld
    this.#withheld = undefined
    this.#reportedAt = now
    // The count includes the message that is reported.
    this.#report(foreignMessageError(position, why, (this.#limiter.admit(undefined) ?? 1) - 1))
  }
}
