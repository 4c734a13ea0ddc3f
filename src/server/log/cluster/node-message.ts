import { createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import { toHex, utf8 } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'

/** What a message of a node is for. Each of them lets time pass, but for a piece. */
export type Kind =
  /** The first of a life: all that the lives before it sent and that is not there yet is refused from now on. */
  | 'start'
  /** An entry, or the last piece of one. */
  | 'entry'
  /** The beginning of an entry that is larger than a message, or more of it. */
  | 'piece'
  /** The node writes the state at this position down, unless another one does. */
  | 'claim'
  /** It has written it. */
  | 'written'
  /** From here on messages count only if they are signed; it is signed itself. */
  | 'signed-only'

/** A message of a node. */
export interface NodeMessage {
  readonly kind: Kind
  readonly node: string
  /** Random, another one for each time the node begins anew. */
  readonly life: string
  /** From 1, one more for each message of this life. */
  readonly number: number
  /** Of a start: the life it takes the place of; empty for the first one. */
  readonly replaces: string
  /** The last position that the node had applied, and its digest there. */
  readonly applied: number
  readonly digest: number
  /** Connections at the node. */
  readonly clients: number
  /** Of an entry or a piece: bytes of the entry. */
  readonly body: Uint8Array
}

/** What the bytes of a message are found to be. */
export type Decoded =
  | {
      readonly type: 'message'
      readonly envelope: NodeMessage
      readonly signed: boolean
      /** The fingerprint of the key that has signed it, if it is one of those that are known. */
      readonly signer: string | undefined
    }
  /** Of a format that is not known here, or not to be read by it. */
  | { readonly type: 'unreadable'; readonly format: number; readonly signer: string | undefined }

const MAGIC = 0x72787373
/** Of nodes that do not go together with others the number differs. Those from 2 on have a signature, at the same place. */
const FORMAT = { plain: 1, signed: 2 } as const
const KINDS: readonly Kind[] = ['start', 'entry', 'piece', 'claim', 'written', 'signed-only']
/** What is before all that the checksum is of, bytes. */
const HEAD = 9
/** Of a signature, bytes: half of a SHA-256, which nobody finds by trying. */
const SIGNATURE_BYTES = 16
/** What is before all that the signature is of, bytes. */
const SIGNED_HEAD = HEAD + SIGNATURE_BYTES
/** Ids are words, also those that somebody else may have sent: they are kept. */
const WORD = /^[\w-]{1,64}$/

/** Most that a message has besides its body, bytes, with ids as they are allowed. */
export const ENVELOPE_OVERHEAD = 400

/** A message as bytes, signed if there are keys. */
export function encodeEnvelope(envelope: NodeMessage, keys?: LogKeys): Uint8Array {
  const { kind, node, life, number, replaces, applied, digest, clients, body } = envelope
  const writer = new ByteWriter(ENVELOPE_OVERHEAD + body.length)
  writer.uint32(MAGIC)
  writer.uint8(keys ? FORMAT.signed : FORMAT.plain)
  writer.uint32(0)
  if (keys) writer.raw(new Uint8Array(SIGNATURE_BYTES))
  writer.uint8(KINDS.indexOf(kind))
  writer.text(node)
  writer.text(life)
  writer.float64(number)
  writer.text(replaces)
  writer.float64(applied)
  writer.uint32(digest)
  writer.uint32(clients)
  writer.blob(body)
  const bytes = writer.done()
  if (keys) bytes.set(keys.sign(formatIn(bytes), bytes.subarray(SIGNED_HEAD)), HEAD)
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(HEAD - 4, checksum(bytes))
  return bytes
}

/**
 * What such bytes are, with a view of them as the body; `undefined` for what no node has sent, and for what was damaged: all
 * nodes see the same.
 */
export function decodeEnvelope(bytes: Uint8Array, keys?: LogKeys): Decoded | undefined {
  if (bytes.length < HEAD) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0) !== MAGIC || view.getUint32(HEAD - 4) !== checksum(bytes)) return undefined
  const format = view.getUint8(4)
  if (format === FORMAT.plain) {
    const envelope = envelopeAt(bytes, HEAD)
    // That is to be signed.
    if (envelope === undefined || envelope.kind === 'signed-only') return undefined
    return { type: 'message', envelope, signed: false, signer: undefined }
  }
  if (format === 0 || bytes.length < SIGNED_HEAD) return undefined
  const signer = keys?.signerOf(bytes.subarray(HEAD, SIGNED_HEAD), formatIn(bytes), bytes.subarray(SIGNED_HEAD))
  const envelope = format === FORMAT.signed ? envelopeAt(bytes, SIGNED_HEAD) : undefined
  return envelope === undefined
    ? { type: 'unreadable', format, signer }
    : { type: 'message', envelope, signed: true, signer }
}

function envelopeAt(bytes: Uint8Array, at: number): NodeMessage | undefined {
  try {
    return readEnvelope(new ByteReader(bytes, at))
  } catch (error) {
    // It ends in the middle of something, or has a name that is none: no node has sent it.
    if (error instanceof StateStoreError) return undefined
    throw error
  }
}

function readEnvelope(reader: ByteReader): NodeMessage | undefined {
  const kind = KINDS[reader.uint8()]
  const [node, life, number, replaces] = [reader.text(), reader.text(), reader.float64(), reader.text()]
  const [applied, digest, clients, body] = [reader.float64(), reader.uint32(), reader.uint32(), reader.blob()]
  const areWords = WORD.test(node) && WORD.test(life) && (replaces === '' || WORD.test(replaces))
  const areCounts = Number.isSafeInteger(number) && Number.isSafeInteger(applied) && number > 0 && applied >= 0
  if (kind === undefined || !reader.ended || !areWords || !areCounts) return undefined
  return { kind, node, life, number, replaces, applied, digest, clients, body }
}

const formatIn = (bytes: Uint8Array): Uint8Array => bytes.subarray(4, 5)

/** Of the number of the format, and of all behind itself: every format has it there. */
const checksum = (bytes: Uint8Array): number => crc32(bytes.subarray(HEAD), crc32(formatIn(bytes)))

/**
 * Keys that the nodes of a store share, and nobody else has: the first one signs, each of them verifies, so that a key can be
 * replaced while nodes run. They are bound to the name of the store: what is signed for one log says nothing in another.
 */
export class LogKeys {
  readonly #keys: readonly [Uint8Array, ...Uint8Array[]]
  readonly #fingerprints: readonly [string, ...string[]]

  /** @param name - of the store */
  constructor([first, ...others]: readonly [Uint8Array, ...Uint8Array[]], name: string) {
    const own = (key: Uint8Array): Uint8Array => hmac(key, utf8(`rx-statestore log ${name}`))
    this.#keys = [own(first), ...others.map(own)]
    const [signing, ...older] = this.#keys
    this.#fingerprints = [fingerprintOf(signing), ...older.map(fingerprintOf)]
  }

  /** By which the key that signs is known; it does not give it away. */
  get fingerprint(): string {
    return this.#fingerprints[0]
  }

  /** Whether one of the keys has such a fingerprint. */
  knows(fingerprint: string): boolean {
    return this.#fingerprints.includes(fingerprint)
  }

  sign(...parts: readonly Uint8Array[]): Uint8Array {
    return hmac(this.#keys[0], ...parts).subarray(0, SIGNATURE_BYTES)
  }

  /** The fingerprint of the key that has signed something; `undefined` when none of these has. */
  signerOf(signature: Uint8Array, ...parts: readonly Uint8Array[]): string | undefined {
    const at = this.#keys.findIndex(key => timingSafeEqual(hmac(key, ...parts).subarray(0, SIGNATURE_BYTES), signature))
    return this.#fingerprints[at]
  }
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

const fingerprintOf = (key: Uint8Array): string => toHex(hmac(key, utf8('fingerprint')).subarray(0, 8)).toLowerCase()
