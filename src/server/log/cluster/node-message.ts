import { createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import { toHex, utf8 } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'

/** A message's purpose. Each kind except `piece` advances log time. */
export type MessageKind =
  /** Starts an epoch. Messages of earlier epochs that are not in the log yet no longer count. */
  | 'start'
  /** An entry, or its last piece. */
  | 'entry'
  /** A piece of an entry that is larger than a message. */
  | 'piece'
  /** The node will write a snapshot of the state at this position, unless another node is writing one. */
  | 'claim'
  /** The node has written a snapshot. */
  | 'written'
  /** Only signed messages count from this message on. The message itself is signed. */
  | 'signed-only'

export interface NodeMessage {
  readonly kind: MessageKind
  readonly node: string
  /** The random id of the epoch. */
  readonly epoch: string
  /** The number of the message, counted from 1 within the epoch. */
  readonly number: number
  /** For a start, the epoch that it replaces, or an empty string for the first epoch. */
  readonly previousEpoch: string
  /** The last position that the node had applied, and the digest at that position. */
  readonly appliedPosition: number
  readonly digest: number
  readonly clientCount: number
  /** The bytes of an entry or a piece. */
  readonly body: Uint8Array
}

export type DecodedMessage =
  | {
      readonly type: 'message'
      readonly nodeMessage: NodeMessage
      readonly isSigned: boolean
      /** The fingerprint of the signing key, if this node has that key. */
      readonly signer: string | undefined
    }
  | { readonly type: 'unreadable'; readonly format: number; readonly signer: string | undefined }

const MAGIC = 0x72787373
/**
 * The message formats. Versions that cannot share a log have different formats. All formats from 2 on have a signature,
 * at the same offset.
 */
const FORMAT = { plain: 1, signed: 2 } as const
const KINDS: readonly MessageKind[] = ['start', 'entry', 'piece', 'claim', 'written', 'signed-only']
/** The offset of the data that the checksum covers. */
const CHECKSUM_END = 9
/** Half the size of a SHA-256, which is too long to guess. */
const SIGNATURE_BYTES = 16
/** The offset of the data that the signature covers. */
const SIGNATURE_END = CHECKSUM_END + SIGNATURE_BYTES
/** Matches valid ids. The pattern limits the size of stored ids, because any publisher may have sent them. */
const ID_PATTERN = /^[\w-]{1,64}$/

/** The maximum size in bytes of a message without its body, with ids of maximum length. */
export const MAX_MESSAGE_OVERHEAD_BYTES = 400

/** Encodes a message, and signs it if keys are given. */
export function encodeNodeMessage(nodeMessage: NodeMessage, keys?: LogKeys): Uint8Array {
  const { kind, node, epoch, number, previousEpoch, appliedPosition, digest, clientCount, body } = nodeMessage
  const writer = new ByteWriter(MAX_MESSAGE_OVERHEAD_BYTES + body.length)
  writer.uint32(MAGIC)
  writer.uint8(keys ? FORMAT.signed : FORMAT.plain)
  writer.uint32(0)
  if (keys) writer.raw(new Uint8Array(SIGNATURE_BYTES))
  writer.uint8(KINDS.indexOf(kind))
  writer.text(node)
  writer.text(epoch)
  writer.float64(number)
  writer.text(previousEpoch)
  writer.float64(appliedPosition)
  writer.uint32(digest)
  writer.uint32(clientCount)
  writer.blob(body)
  const bytes = writer.done()
  if (keys) bytes.set(keys.sign(formatByteOf(bytes), bytes.subarray(SIGNATURE_END)), CHECKSUM_END)
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(CHECKSUM_END - 4, checksum(bytes))
  return bytes
}

/**
 * Decodes a message, whose body is a view of the bytes. Returns `undefined` for a message that is damaged or that no
 * node sent. All nodes agree on that result.
 */
export function decodeNodeMessage(bytes: Uint8Array, keys?: LogKeys): DecodedMessage | undefined {
  if (bytes.length < CHECKSUM_END) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0) !== MAGIC || view.getUint32(CHECKSUM_END - 4) !== checksum(bytes)) return undefined
  const format = view.getUint8(4)
  if (format === FORMAT.plain) {
    const nodeMessage = tryReadNodeMessage(bytes, CHECKSUM_END)
    // A message of the kind `signed-only` must be signed.
    if (nodeMessage === undefined || nodeMessage.kind === 'signed-only') return undefined
    return { type: 'message', nodeMessage, isSigned: false, signer: undefined }
  }
  if (format === 0 || bytes.length < SIGNATURE_END) return undefined
  const signer = keys?.findSigner(
    bytes.subarray(CHECKSUM_END, SIGNATURE_END),
    formatByteOf(bytes),
    bytes.subarray(SIGNATURE_END),
  )
  const nodeMessage = format === FORMAT.signed ? tryReadNodeMessage(bytes, SIGNATURE_END) : undefined
  return nodeMessage === undefined
    ? { type: 'unreadable', format, signer }
    : { type: 'message', nodeMessage, isSigned: true, signer }
}

function tryReadNodeMessage(bytes: Uint8Array, offset: number): NodeMessage | undefined {
  try {
    return readNodeMessage(new ByteReader(bytes, offset))
  } catch (error) {
    // A message that is truncated or has an invalid id is not from a node.
    if (error instanceof StateStoreError) return undefined
    throw error
  }
}

function readNodeMessage(reader: ByteReader): NodeMessage | undefined {
  const kind = KINDS[reader.uint8()]
  const [node, epoch, number, previousEpoch] = [reader.text(), reader.text(), reader.float64(), reader.text()]
  const [appliedPosition, digest, clientCount, body] = [
    reader.float64(),
    reader.uint32(),
    reader.uint32(),
    reader.blob(),
  ]
  const areIdsValid =
    ID_PATTERN.test(node) && ID_PATTERN.test(epoch) && (previousEpoch === '' || ID_PATTERN.test(previousEpoch))
  const areNumbersValid =
    Number.isSafeInteger(number) && Number.isSafeInteger(appliedPosition) && number > 0 && appliedPosition >= 0
  if (kind === undefined || !reader.isAtEnd || !areIdsValid || !areNumbersValid) return undefined
  return { kind, node, epoch, number, previousEpoch, appliedPosition, digest, clientCount, body }
}

const formatByteOf = (bytes: Uint8Array): Uint8Array => bytes.subarray(4, 5)

/** Returns a checksum of the format byte and of everything after the checksum, in every format. */
const checksum = (bytes: Uint8Array): number => crc32(bytes.subarray(CHECKSUM_END), crc32(formatByteOf(bytes)))

/**
 * The secret keys that the nodes of a store share. The first key signs and all keys verify, so a key can be replaced
 * while nodes run. Keys are bound to the store's name, so a signature for one log is invalid in another.
 */
export class LogKeys {
  readonly #keys: readonly [Uint8Array, ...Uint8Array[]]
  readonly #fingerprints: readonly [string, ...string[]]

  /** @param name - name of the store */
  constructor([first, ...others]: readonly [Uint8Array, ...Uint8Array[]], name: string) {
    const bindToStore = (key: Uint8Array): Uint8Array => hmac(key, utf8(`rx-statestore log ${name}`))
    this.#keys = [bindToStore(first), ...others.map(bindToStore)]
    const [signing, ...older] = this.#keys
    this.#fingerprints = [fingerprintOf(signing), ...older.map(fingerprintOf)]
  }

  /** The fingerprint, which identifies the signing key without revealing it. */
  get fingerprint(): string {
    return this.#fingerprints[0]
  }

  hasFingerprint(fingerprint: string): boolean {
    return this.#fingerprints.includes(fingerprint)
  }

  sign(...parts: readonly Uint8Array[]): Uint8Array {
    return hmac(this.#keys[0], ...parts).subarray(0, SIGNATURE_BYTES)
  }

  /** Returns the fingerprint of the key that made a signature, or `undefined` if none of these keys did. */
  findSigner(signature: Uint8Array, ...parts: readonly Uint8Array[]): string | undefined {
    const index = this.#keys.findIndex(key =>
      timingSafeEqual(hmac(key, ...parts).subarray(0, SIGNATURE_BYTES), signature),
    )
    return this.#fingerprints[index]
  }
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

const fingerprintOf = (key: Uint8Array): string => toHex(hmac(key, utf8('fingerprint')).subarray(0, 8)).toLowerCase()
