import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import type { Clock } from '../../../core/util/clock.js'
import { foreign, keyDiffers, keyMissing, signedOtherwise, unknownFormat } from './errors.js'
import type { Decoded, LogKeys, NodeMessage } from './node-message.js'

/** A message that may be of a node, or why it is of none. */
export type Admitted = { readonly envelope: NodeMessage } | { readonly foreign: string }

/**
 * Which messages may be of a node, by who has signed them. A log begins with messages that anybody may have sent; once it says
 * `signed-only`, what is not signed with the key is of no node. It is part of the state that nodes share: they have to
 * decide alike, so a node that cannot do so stops.
 */
export class Trust {
  readonly #keys: LogKeys | undefined
  #since: number | undefined
  #fingerprint = ''

  constructor(keys: LogKeys | undefined) {
    this.#keys = keys
  }

  /** From this position on messages count only if they are signed; `undefined` while others do as well. */
  get since(): number | undefined {
    return this.#since
  }

  /** Whether this node signs, and the log does not say yet that all do, or with another key. */
  get isDue(): boolean {
    return this.#keys !== undefined && this.#keys.fingerprint !== this.#fingerprint
  }

  /** Raises `format` and `log-key`, and then this node has to stop. */
  admit(decoded: Decoded | undefined, position: number): Admitted {
    if (decoded === undefined) return { foreign: 'it is none of a node, or damaged' }
    const { signer } = decoded
    if (decoded.type === 'unreadable') {
      if (signer !== undefined) throw unknownFormat(decoded.format, position)
      return { foreign: `it has the format ${decoded.format}, which this version does not read` }
    }
    const { envelope, signed } = decoded
    const isKnown = signer !== undefined || (this.#since === undefined && !(signed && this.#keys))
    if (isKnown) return { envelope }
    // Nobody can tell yet whether it is of a node with another key, or of none.
    if (this.#since === undefined) throw keyDiffers(position)
    return { foreign: `the key of the log has not signed it, though it says that it is of the node ${envelope.node}` }
  }

  /** A node has said that messages count only if they are signed. Raises `log-key` when this one cannot tell. */
  begin(position: number, signer: string | undefined): void {
    if (signer === undefined) throw keyMissing(position)
    this.#since ??= position
    this.#fingerprint = signer
  }

  encode(writer: ByteWriter): void {
    writer.float64(this.#since ?? 0)
    writer.text(this.#fingerprint)
  }

  /** Takes back what was encoded; nothing of a version that had none of it. Raises `log-key`. */
  decode(reader: ByteReader): void {
    if (reader.ended) return
    const [since, fingerprint] = [reader.float64(), reader.text()]
    if (since === 0) return
    if (this.#keys === undefined) throw keyMissing(since)
    if (!this.#keys.knows(fingerprint)) throw keyDiffers(since)
    this.#since = since
    this.#fingerprint = fingerprint
  }
}

/** After this without a message that is signed otherwise all nodes have the key: each sends one in 3 s; ms. */
const QUIET = 15_000
/** After this all nodes should have it, ms: somebody who only wants to keep the log open cannot do so for longer. */
const LONGEST = 60 * 60 * 1000
/** So many are reported by name. */
const MOST = 100

/** Nodes that do not sign with the key of this one, while a log comes to that. */
export class OtherSigners {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: unknown) => void
  readonly #nodes = new Set<string>()
  #since: number
  #heardAt: number

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: unknown) => void) {
    this.#clock = clock
    this.#report = report
    this.#since = clock.monotonic()
    this.#heardAt = this.#since
  }

  /** This node takes part from now on. */
  begin(): void {
    this.#since = this.#clock.monotonic()
    this.#heardAt = this.#since
  }

  /** Whether it is time to say that all sign. @param isFirst - whether anybody may send to the log until then */
  areGone(isFirst: boolean): boolean {
    const now = this.#clock.monotonic()
    return now - this.#heardAt > QUIET || (isFirst && now - this.#since > LONGEST)
  }

  /** A message that is signed otherwise counts. */
  heard({ node }: NodeMessage, position: number): void {
    this.#heardAt = this.#clock.monotonic()
    if (this.#nodes.has(node) || this.#nodes.size >= MOST) return
    this.#nodes.add(node)
    this.#report(signedOtherwise(node, position))
  }
}

/** Of messages that are of no node one is reported in this time, ms. */
const PAUSE = 10_000

/** Reports messages that are of no node: the first at once, of a flood one in ten seconds. */
export class ForeignReports {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: unknown) => void
  #reportedAt = Number.NEGATIVE_INFINITY
  #last: { readonly position: number; readonly why: string } | undefined
  #unreported = 0

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: unknown) => void) {
    this.#clock = clock
    this.#report = report
  }

  take(position: number, why: string): void {
    this.#last = { position, why }
    this.#unreported++
    this.look()
  }

  /** To be called from time to time. */
  look(): void {
    const now = this.#clock.monotonic()
    if (this.#last === undefined || now - this.#reportedAt < PAUSE) return
    const { position, why } = this.#last
    const more = this.#unreported - 1
    this.#reportedAt = now
    this.#last = undefined
    this.#unreported = 0
    this.#report(foreign(position, why, more))
  }
}
