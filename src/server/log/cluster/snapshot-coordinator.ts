import type { ByteReader, ByteWriter } from '../../../core/util/byte-codec.js'

export interface SnapshotRecord {
  readonly name: string
  readonly position: number
  /** The size in bytes. */
  readonly size: number
}

/** The announcement of a node that it is writing a snapshot. */
interface SnapshotClaim {
  readonly node: string
  readonly position: number
  readonly time: number
}

/** The log time after which a claim expires. */
const CLAIM_TIMEOUT_MS = 60_000

/**
 * Tracks the snapshots, the node that writes the next snapshot, and the amount of messages since the latest snapshot.
 * The coordinator is part of the shared state, so that only one node writes each snapshot.
 */
export class SnapshotCoordinator {
  #latest: SnapshotRecord | undefined
  #previous: SnapshotRecord | undefined
  #claim: SnapshotClaim | undefined
  /** The size of the messages since the latest snapshot. */
  #bytes = 0
  #messages = 0

  get latest(): SnapshotRecord | undefined {
    return this.#latest
  }

  get previous(): SnapshotRecord | undefined {
    return this.#previous
  }

  /** The bytes and messages since the latest snapshot. */
  get sinceLatest(): { readonly bytes: number; readonly messages: number } {
    return { bytes: this.#bytes, messages: this.#messages }
  }

  countMessage(bytes: number): void {
    this.#bytes += bytes
    this.#messages++
  }

  /**
   * Returns whether no node is known to be writing a snapshot.
   *
   * @param time - log time, ms
   */
  canClaim(time: number): boolean {
    return this.#claim === undefined || time - this.#claim.time > CLAIM_TIMEOUT_MS
  }

  /**
   * Grants a node the right to write a snapshot unless another node is writing one. Returns whether the right was
   * granted.
   */
  claim(node: string, position: number, time: number): boolean {
    if (!this.canClaim(time)) return false
    this.#claim = { node, position, time }
    return true
  }

  recordSnapshot(snapshot: SnapshotRecord): void {
    if (this.#claim !== undefined && this.#claim.position <= snapshot.position) this.#claim = undefined
    if (this.#latest !== undefined && this.#latest.position >= snapshot.position) return
    this.#previous = this.#latest
    this.#latest = snapshot
    this.#bytes = 0
    this.#messages = 0
  }

  encode(writer: ByteWriter): void {
    for (const snapshot of [this.#latest, this.#previous]) encodeSnapshotRecord(writer, snapshot)
    writer.text(this.#claim?.node ?? '')
    for (const number of [this.#claim?.position ?? 0, this.#claim?.time ?? 0, this.#bytes, this.#messages])
      writer.float64(number)
  }

  decode(reader: ByteReader): void {
    this.#latest = decodeSnapshotRecord(reader)
    this.#previous = decodeSnapshotRecord(reader)
    const [node, position, time] = [reader.text(), reader.float64(), reader.float64()]
    this.#claim = node === '' ? undefined : { node, position, time }
    this.#bytes = reader.float64()
    this.#messages = reader.float64()
  }
}

export function encodeSnapshotRecord(writer: ByteWriter, snapshot: SnapshotRecord | undefined): void {
  writer.text(snapshot?.name ?? '')
  writer.float64(snapshot?.position ?? 0)
  writer.float64(snapshot?.size ?? 0)
}

export function decodeSnapshotRecord(reader: ByteReader): SnapshotRecord | undefined {
  const [name, position, size] = [reader.text(), reader.float64(), reader.float64()]
  return name === '' ? undefined : { name, position, size }
}

/** Returns a snapshot's name. Names sort by position. */
export const snapshotName = (position: number, nodeId: string): string =>
  `${String(position).padStart(16, '0')}-${nodeId}`

/** Returns the position in a snapshot's name, or `undefined` for any other name. */
export function parseSnapshotPosition(name: string): number | undefined {
  const [, digits] = /^(\d{16})-/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}
