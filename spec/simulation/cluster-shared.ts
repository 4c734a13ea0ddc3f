import type { StreamMessage } from '../../src/server/log/cluster/stream.js'
import type { Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

/** A stream on virtual time that all nodes of a simulation share. */
export class SimCluster {
  readonly time: VirtualTime
  readonly random: Random
  readonly latency: number
  readonly largest: number
  readonly snapshots = new Map<string, Uint8Array[]>()
  /** Called for each committed message, before any node receives it. */
  committed: (message: StreamMessage) => void = () => undefined
  skew = 0
  hasQuorum = true
  snapshotFate: 'fails' | 'damaged' | 'misread' | undefined
  /** The corrupt snapshots. At least one snapshot is always intact. */
  readonly damaged = new Set<string>()
  first = 1
  last = 0
  readonly #messages: StreamMessage[] = []
  readonly #ids = new Map<string, number>()
  readonly #feeds = new Set<() => void>()

  constructor(time: VirtualTime, random: Random, latency: number, largest: number) {
    this.time = time
    this.random = random
    this.latency = latency
    this.largest = largest
  }

  /** Commits a message, or recognises a repeated message by its id. */
  put(bytes: Uint8Array, id: string | undefined): number {
    const known = id === undefined ? undefined : this.#ids.get(id)
    if (known !== undefined) return known
    this.last++
    if (id !== undefined) this.#ids.set(id, this.last)
    const message = { position: this.last, time: this.time.clock().now() + this.skew, bytes }
    this.#messages.push(message)
    this.committed(message)
    for (const feed of Array.from(this.#feeds)) feed()
    return this.last
  }

  next(after: number): StreamMessage | undefined {
    return this.#messages[Math.max(0, after + 1 - this.first)]
  }

  trim(upTo: number): void {
    const first = Math.max(this.first, Math.min(upTo, this.last) + 1)
    this.#messages.splice(0, first - this.first)
    this.first = first
  }

  forget(): void {
    this.#ids.clear()
  }

  onPut(task: () => void): () => void {
    this.#feeds.add(task)
    return () => this.#feeds.delete(task)
  }
}
