import { crc32 } from 'node:zlib'
import { ByteReader } from '../base/byte-reader.js'
import { ByteWriter } from '../base/byte-writer.js'
import { StateStoreError } from '../base/errors.js'

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

/** A message of a node. */
export interface Envelope {
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

const MAGIC = 0x72787373
/** Of nodes that do not go together with others the number differs. */
const FORMAT = 1
const KINDS: readonly Kind[] = ['start', 'entry', 'piece', 'claim', 'written']
/** What is before all that the checksum is of, bytes. */
const HEAD = 9

/** Most that a message has besides its body, bytes, with ids as they are allowed. */
export const ENVELOPE_OVERHEAD = 400

/** A message as bytes. */
export function encodeEnvelope(envelope: Envelope): Uint8Array {
  const { kind, node, life, number, replaces, applied, digest, clients, body } = envelope
  const writer = new ByteWriter(ENVELOPE_OVERHEAD + body.length)
  writer.uint32(MAGIC)
  writer.uint8(FORMAT)
  writer.uint32(0)
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
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(HEAD - 4, checksum(bytes))
  return bytes
}

/**
 * The message of such bytes, with a view of them as its body; `undefined` for what no node has sent, and for one that was
 * damaged: all nodes see the same. Raises `format` for one of a node of another version.
 */
export function decodeEnvelope(bytes: Uint8Array): Envelope | undefined {
  if (bytes.length < HEAD) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0) !== MAGIC || view.getUint32(HEAD - 4) !== checksum(bytes)) return undefined
  const format = view.getUint8(4)
  if (format !== FORMAT) throw unknownFormat(format)
  const reader = new ByteReader(bytes, HEAD)
  const kind = KINDS[reader.uint8()]
  if (kind === undefined) throw unknownFormat(format)
  const [node, life, number, replaces] = [reader.text(), reader.text(), reader.float64(), reader.text()]
  const [applied, digest, clients, body] = [reader.float64(), reader.uint32(), reader.uint32(), reader.blob()]
  if (!reader.ended) throw unknownFormat(format)
  return { kind, node, life, number, replaces, applied, digest, clients, body }
}

/** Of the number of the format, and of all behind itself: every format has it there. */
const checksum = (bytes: Uint8Array): number => crc32(bytes.subarray(HEAD), crc32(bytes.subarray(4, 5)))

const unknownFormat = (format: number): StateStoreError =>
  new StateStoreError(
    'format',
    `a node of another version writes to this log (format ${format}), and this one cannot read it: all nodes of a store ` +
      'have to be of versions that go together',
  )
