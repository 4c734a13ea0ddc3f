import { concat, EMPTY, type Subscription } from 'rxjs'
import { ByteWriter } from '../../../core/util/byte-codec.js'
import type { State } from '../../engine/state.js'
import { notWritten } from './errors.js'
import { encodeMilestone, type Milestone } from './milestones.js'
import type { Replica } from './replica.js'
import type { Parcel } from './sender.js'
import { encodeSnapshot } from './snapshot-codec.js'
import { positionOf, snapshotName } from './snapshot-name.js'
import type { Stream } from './stream.js'

/** When a snapshot is worth it. */
export interface SnapshotSizes {
  /** Of messages since the last one, bytes, unless that was larger. Default 32 MiB. */
  readonly bytes: number
  /** Messages since the last one. Default 250,000. */
  readonly messages: number
}

/** What a writer of snapshots needs. */
export interface SnapshotHost {
  readonly capture: () => State
  push(parcel: Parcel): void
  troubled(error: unknown): void
}

const SIZES: SnapshotSizes = { bytes: 32 * 1024 * 1024, messages: 250_000 }

/** Writes the state down when that is worth it and no other node does, and trims the stream behind the last two. */
export class SnapshotWriter {
  readonly #stream: Stream
  readonly #replica: Replica
  readonly #host: SnapshotHost
  readonly #sizes: SnapshotSizes
  #claimed = false
  #writing: Subscription | undefined
  #trimming: Subscription | undefined

  constructor(stream: Stream, replica: Replica, host: SnapshotHost, sizes: Partial<SnapshotSizes> = {}) {
    this.#stream = stream
    this.#replica = replica
    this.#host = host
    this.#sizes = { ...SIZES, ...sizes }
  }

  /** To be called from time to time. */
  look(): void {
    const { milestones, time } = this.#replica
    const { bytes, messages } = milestones.since
    const isWorth = bytes > Math.max(this.#sizes.bytes, milestones.last?.size ?? 0) || messages > this.#sizes.messages
    if (!isWorth || this.#claimed || this.#writing !== undefined || !milestones.isFree(time)) return
    this.#claimed = true
    this.#host.push({ kind: 'claim', body: new Uint8Array(0) })
  }

  /** A claim of ours is in the log; all that came before it is applied. */
  claimed(granted: boolean, nodeId: string): void {
    this.#claimed = false
    if (!granted || this.#writing !== undefined) return
    const { position } = this.#replica
    const name = snapshotName(position, nodeId)
    let size = 0
    const blocks = encodeSnapshot(this.#replica.encode(), this.#host.capture())
    const counted = (function* () {
      for (const block of blocks) {
        size += block.length
        yield block
      }
    })()
    this.#writing = this.#stream.putSnapshot(name, counted).subscribe({
      error: error => this.#ended(error),
      complete: () => {
        this.#ended()
        this.#host.push({ kind: 'written', body: bodyOf({ name, position, size }) })
      },
    })
    if (this.#writing.closed) this.#writing = undefined
  }

  /** It is said in the log that a snapshot of ours is written. */
  written(): void {
    const position = this.#replica.milestones.before?.position ?? 0
    const old$ = position === 0 ? EMPTY : concat(this.#stream.trim(position), this.#stream.snapshots())
    this.#trimming?.unsubscribe()
    this.#trimming = concat(old$, this.#stream.sweep()).subscribe({
      next: names => {
        for (const { name } of names) if ((positionOf(name) ?? position) < position) this.#remove(name)
      },
      error: error => this.#host.troubled(error),
    })
  }

  /** The claim was given up with its life. */
  begin(): void {
    this.#claimed = false
  }

  stop(): void {
    this.#writing?.unsubscribe()
    this.#trimming?.unsubscribe()
  }

  #remove(name: string): void {
    this.#trimming?.add(this.#stream.removeSnapshot(name).subscribe({ error: error => this.#host.troubled(error) }))
  }

  #ended(error?: unknown): void {
    this.#writing = undefined
    if (error !== undefined) this.#host.troubled(notWritten(error))
  }
}

function bodyOf(milestone: Milestone): Uint8Array {
  const writer = new ByteWriter()
  encodeMilestone(writer, milestone)
  return writer.done()
}
