import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'

/** A snapshot that a node has written. */
export interface SnapshotRecord {
  /** Its name in the stream's place for snapshots. */
  readonly name: string
  readonly position: number
  /** Bytes. */
  readonly size: number
}

/** A node writes the state at a position down. */
interface Claim {
  readonly node: string
  readonly position: number
  readonly time: number
}

/** Who has said that it writes a snapshot and has not done so is not waited for any longer, by the log's time, ms. */
const PATIENCE = 60_000

/**
 * Which snapshots there are, who writes the next one, and how much has come since. It is part of the state that nodes share,
 * so that one of them writes it and not all.
 */
export class SnapshotCoordinator {
  #last: SnapshotRecord | undefined
  #before: SnapshotRecord | undefined
  #claim: Claim | undefined
  /** Of messages since the last one. */
  #bytes = 0
  #messages = 0

  /** The newest. */
  get last(): SnapshotRecord | undefined {
    return this.#last
  }

  /** The one before the newest. */
  get before(): SnapshotRecord | undefined {
    return this.#before
  }

  /** Bytes and messages since the last one. */
  get since(): { readonly bytes: number; readonly messages: number } {
    return { bytes: this.#bytes, messages: this.#messages }
  }

  /** A message has come. */
  count(bytes: number): void {
    this.#bytes += bytes
    this.#messages++
  }

  /** Whether nobody writes one at the log's time (ms), as far as is known. */
  isFree(time: number): boolean {
    return this.#claim === undefined || time - this.#claim.time > PATIENCE
  }

  /** Has a node write the state at a position down, unless another one does; returns whether it is to. */
  claim(node: string, position: number, time: number): boolean {
    if (!this.isFree(time)) return false
    this.#claim = { node, position, time }
    return true
  }

  /** A node has written one. */
  written(snapshot: SnapshotRecord): void {
    if (this.#claim !== undefined && this.#claim.position <= snapshot.position) this.#claim = undefined
    if (this.#last !== undefined && this.#last.position >= snapshot.position) return
    this.#before = this.#last
    this.#last = snapshot
    this.#bytes = 0
    this.#messages = 0
  }

  encode(writer: ByteWriter): void {
    for (const snapshot of [this.#last, this.#before]) encodeSnapshotRecord(writer, snapshot)
    writer.text(this.#claim?.node ?? '')
    for (const number of [this.#claim?.position ?? 0, this.#claim?.time ?? 0, this.#bytes, this.#messages])
      writer.float64(number)
  }

  /** Takes back what was encoded. */
  decode(reader: ByteReader): void {
    this.#last = decodeSnapshotRecord(reader)
    this.#before = decodeSnapshotRecord(reader)
    const [node, position, time] = [reader.text(), reader.float64(), reader.float64()]
    this.#claim = node === '' ? undefined : { node, position, time }
    this.#bytes = reader.float64()
    this.#messages = reader.float64()
  }
}

/** A record as bytes, or none. */
export function encodeSnapshotRecord(writer: ByteWriter, snapshot: SnapshotRecord | undefined): void {
  writer.text(snapshot?.name ?? '')
  writer.float64(snapshot?.position ?? 0)
  writer.float64(snapshot?.size ?? 0)
}

/** A record of such bytes. */
export function decodeSnapshotRecord(reader: ByteReader): SnapshotRecord | undefined {
  const [name, position, size] = [reader.text(), reader.float64(), reader.float64()]
  return name === '' ? undefined : { name, position, size }
}

/** The name of a snapshot: when names are sorted, the newest comes last. */
export const snapshotName = (position: number, nodeId: string): string =>
  `${String(position).padStart(16, '0')}-${nodeId}`

/** The position that a name says; `undefined` for a name that is none of a snapshot. */
export function positionOf(name: string): number | undefined {
  const [, digits] = /^(\d{16})-/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}
