import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import type { Decoded, Envelope } from './envelope.js'
import { keyDiffers, keyMissing, unknownFormat } from './errors.js'
import type { LogKeys } from './log-keys.js'

/** A message that may be of a node, or why it is of none. */
export type Admitted = { readonly envelope: Envelope } | { readonly foreign: string }

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
