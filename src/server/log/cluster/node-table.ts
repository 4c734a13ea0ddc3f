import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import { concatBytes } from '../../../core/util/bytes.js'
import type { NodeMessage } from './node-message.js'

export interface NodeRecord {
  readonly epoch: string
  readonly nextNumber: number
  /** The position that the node had applied when it sent its last message. */
  readonly appliedPosition: number
  /** The number of the node's connections at that time. */
  readonly clientCount: number
  /** The log time in ms of the node's last message. */
  readonly seenAt: number
}

/** The position, time and signing phase of a message. */
export interface MessageContext {
  readonly position: number
  /** The log time in ms. */
  readonly time: number
  readonly isSignedOnly: boolean
}

interface NodeRow extends NodeRecord {
  epoch: string
  nextNumber: number
  appliedPosition: number
  clientCount: number
  seenAt: number
  pieces: Uint8Array[]
  /** The total size of `pieces`. */
  pieceBytes: number
}

/** The log time without a message after which a node is removed. */
const NODE_EXPIRY_MS = 7 * 24 * 60 * 60 * 1000
const MAX_NODES = 1000
/** The maximum size of an entry. The pieces of a larger entry are dropped. */
export const MAX_ENTRY_BYTES = 64 * 1024 * 1024

/**
 * Tracks the epoch and message number of each node, so that all nodes apply every entry once and in order. A message
 * counts if it has the next number in the newest epoch of its node. The table is part of the shared state.
 */
export class NodeTable {
  readonly #rows = new Map<string, NodeRow>()
  /**
   * The position at which a node was last removed. An older message may belong to a removed node, whose epoch is no
   * longer known.
   */
  lastRemovalPosition = 0

  entries(): Iterable<readonly [id: string, member: NodeRecord]> {
    return this.#rows
  }

  get size(): number {
    return this.#rows.size
  }

  get(id: string): NodeRecord | undefined {
    return this.#rows.get(id)
  }

  /** Records a message. Returns whether it counts. */
  accept(nodeMessage: NodeMessage, context: MessageContext): boolean {
    const { time } = context
    const row = nodeMessage.kind === 'start' ? this.#startEpoch(nodeMessage, context) : this.#findExpected(nodeMessage)
    if (row === undefined) return false
    row.nextNumber = nodeMessage.number + 1
    row.appliedPosition = nodeMessage.appliedPosition
    row.clientCount = nodeMessage.clientCount
    row.seenAt = time
    if (nodeMessage.kind === 'piece') this.#addPiece(row, nodeMessage.body)
    return true
  }

  /** Returns the bytes of an entry whose last message counts, or `undefined` if the entry is too large. */
  takeEntryBody({ node, body }: NodeMessage): Uint8Array | undefined {
    const row = this.#rows.get(node)
    if (row === undefined || row.pieceBytes === 0) return body
    const { pieces, pieceBytes } = row
    row.pieces = []
    row.pieceBytes = 0
    return pieceBytes + body.length > MAX_ENTRY_BYTES ? undefined : concatBytes([...pieces, body])
  }

  encode(writer: ByteWriter): void {
    writer.uint32(this.#rows.size)
    for (const [id, { epoch, nextNumber, appliedPosition, clientCount, seenAt, pieces, pieceBytes }] of this.#rows) {
      writer.text(id)
      writer.text(epoch)
      for (const number of [nextNumber, appliedPosition, clientCount, seenAt, pieceBytes]) writer.float64(number)
      writer.blob(concatBytes(pieces))
    }
  }

  decode(reader: ByteReader): void {
    for (let remaining = reader.uint32(); remaining > 0; remaining--) {
      const [id, epoch, nextNumber, appliedPosition] = [
        reader.text(),
        reader.text(),
        reader.float64(),
        reader.float64(),
      ]
      const [clientCount, seenAt, pieceBytes, bytes] = [
        reader.float64(),
        reader.float64(),
        reader.float64(),
        reader.blob(),
      ]
      const pieces = bytes.length === 0 ? [] : [new Uint8Array(bytes)]
      this.#rows.set(id, { epoch, nextNumber, appliedPosition, clientCount, seenAt, pieces, pieceBytes })
    }
  }

  #startEpoch(nodeMessage: NodeMessage, { position, time, isSignedOnly }: MessageContext): NodeRow | undefined {
    const { node, epoch, number, previousEpoch, appliedPosition } = nodeMessage
    // A delayed message names an epoch that has since been replaced.
    if (number !== 1 || previousEpoch !== (this.#rows.get(node)?.epoch ?? '')) return undefined
    // An attacker may have recorded a signed message of a removed node and replay it.
    if (isSignedOnly && previousEpoch === '' && appliedPosition < this.lastRemovalPosition) return undefined
    this.#rows.delete(node)
    if (this.#removeExpired(time)) this.lastRemovalPosition = position
    const row = { epoch, nextNumber: 1, appliedPosition: 0, clientCount: 0, seenAt: time, pieces: [], pieceBytes: 0 }
    this.#rows.set(node, row)
    return row
  }

  #findExpected({ node, epoch, number }: NodeMessage): NodeRow | undefined {
    const row = this.#rows.get(node)
    return row?.epoch === epoch && row.nextNumber === number ? row : undefined
  }

  #addPiece(row: NodeRow, body: Uint8Array): void {
    row.pieceBytes += body.length
    if (row.pieceBytes > MAX_ENTRY_BYTES) row.pieces = []
    else row.pieces.push(new Uint8Array(body))
  }

  #removeExpired(time: number): boolean {
    const sizeBefore = this.#rows.size
    const rows = Array.from(this.#rows).sort(([, a], [, b]) => a.seenAt - b.seenAt)
    const excess = rows.length - MAX_NODES + 1
    for (const [index, [id, { seenAt }]] of rows.entries())
      if (index < excess || time - seenAt > NODE_EXPIRY_MS) this.#rows.delete(id)
    return this.#rows.size < sizeBefore
  }
}
