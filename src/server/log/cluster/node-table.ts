import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'
import { concatBytes } from '../../../core/util/bytes.js'
import type { NodeMessage } from './node-message.js'

/** A node as all others know it. */
export interface NodeRecord {
  readonly life: string
  /** Number of the next message of that life. */
  readonly next: number
  /** How far it had applied the log when it sent the last one. */
  readonly applied: number
  /** Connections at it, then. */
  readonly clients: number
  /** When it sent the last one, by the log's time, ms. */
  readonly seenAt: number
}

/** Where a message came. */
export interface Arrival {
  readonly position: number
  /** Of the log, ms. */
  readonly time: number
  /** Whether messages count only if they are signed. */
  readonly isSignedOnly: boolean
}

interface Row extends NodeRecord {
  life: string
  next: number
  applied: number
  clients: number
  seenAt: number
  pieces: Uint8Array[]
  /** In pieces, bytes. */
  held: number
}

/** A node that was not heard of for so long is forgotten, by the log's time, ms. */
const FORGOTTEN_AFTER = 7 * 24 * 60 * 60 * 1000
/** Of more nodes than this the one that was not heard of for longest is forgotten. */
const MOST = 1000
/** Largest entry, bytes; pieces of a larger one are dropped. */
export const LARGEST_ENTRY = 64 * 1024 * 1024

/**
 * Who has sent what, so that each entry is applied once and in its order, by all alike: a message counts if its number is
 * the next of the newest life of its node. It is part of the state that nodes share.
 */
export class NodeTable {
  readonly #rows = new Map<string, Row>()
  /** The position at which a node was forgotten last: what was sent before that may be of one of which nothing is known. */
  forgottenAt = 0

  /** Nodes by id. */
  entries(): Iterable<readonly [id: string, member: NodeRecord]> {
    return this.#rows
  }

  /** How many nodes are known. */
  get size(): number {
    return this.#rows.size
  }

  get(id: string): NodeRecord | undefined {
    return this.#rows.get(id)
  }

  /** Takes a message; returns whether it counts. */
  take(envelope: NodeMessage, arrival: Arrival): boolean {
    const { time } = arrival
    const row = envelope.kind === 'start' ? this.#begin(envelope, arrival) : this.#next(envelope)
    if (row === undefined) return false
    row.next = envelope.number + 1
    row.applied = envelope.applied
    row.clients = envelope.clients
    row.seenAt = time
    if (envelope.kind === 'piece') this.#keep(row, envelope.body)
    return true
  }

  /** The bytes of an entry whose last message counts; `undefined` when it is larger than allowed. */
  bodyOf({ node, body }: NodeMessage): Uint8Array | undefined {
    const row = this.#rows.get(node)
    if (row === undefined || row.held === 0) return body
    const { pieces, held } = row
    row.pieces = []
    row.held = 0
    return held + body.length > LARGEST_ENTRY ? undefined : concatBytes([...pieces, body])
  }

  encode(writer: ByteWriter): void {
    writer.uint32(this.#rows.size)
    for (const [id, { life, next, applied, clients, seenAt, pieces, held }] of this.#rows) {
      writer.text(id)
      writer.text(life)
      for (const number of [next, applied, clients, seenAt, held]) writer.float64(number)
      writer.blob(concatBytes(pieces))
    }
  }

  /** Takes back what was encoded. */
  decode(reader: ByteReader): void {
    for (let left = reader.uint32(); left > 0; left--) {
      const [id, life, next, applied] = [reader.text(), reader.text(), reader.float64(), reader.float64()]
      const [clients, seenAt, held, bytes] = [reader.float64(), reader.float64(), reader.float64(), reader.blob()]
      const pieces = bytes.length === 0 ? [] : [new Uint8Array(bytes)]
      this.#rows.set(id, { life, next, applied, clients, seenAt, pieces, held })
    }
  }

  #begin(envelope: NodeMessage, { position, time, isSignedOnly }: Arrival): Row | undefined {
    const { node, life, number, replaces, applied } = envelope
    // One that comes late names a life that has been replaced since.
    if (number !== 1 || replaces !== (this.#rows.get(node)?.life ?? '')) return undefined
    // Somebody may have kept what a node has signed that was forgotten.
    if (isSignedOnly && replaces === '' && applied < this.forgottenAt) return undefined
    this.#rows.delete(node)
    if (this.#forget(time)) this.forgottenAt = position
    const row = { life, next: 1, applied: 0, clients: 0, seenAt: time, pieces: [], held: 0 }
    this.#rows.set(node, row)
    return row
  }

  #next({ node, life, number }: NodeMessage): Row | undefined {
    const row = this.#rows.get(node)
    return row?.life === life && row.next === number ? row : undefined
  }

  #keep(row: Row, body: Uint8Array): void {
    row.held += body.length
    if (row.held > LARGEST_ENTRY) row.pieces = []
    else row.pieces.push(new Uint8Array(body))
  }

  #forget(time: number): boolean {
    const before = this.#rows.size
    const rows = Array.from(this.#rows).sort(([, a], [, b]) => a.seenAt - b.seenAt)
    const tooMany = rows.length - MOST + 1
    for (const [at, [id, { seenAt }]] of rows.entries())
      if (at < tooMany || time - seenAt > FORGOTTEN_AFTER) this.#rows.delete(id)
    return this.#rows.size < before
  }
}
