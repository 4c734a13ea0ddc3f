import { defer, EMPTY, from, ignoreElements, Observable } from 'rxjs'
import type { Clock } from '../../../../src/core/util/clock.js'
import {
  type Publication,
  type SnapshotName,
  type Stream,
  type StreamBounds,
  StreamError,
  type StreamMessage,
} from '../../../../src/server/log/cluster/stream.js'

export interface Faults {
  /** Whether messages neither arrive nor get a quorum, so that there is no response. */
  isDeaf: boolean
  /** Whether messages arrive but their responses do not. */
  isMute: boolean
  isStalled: boolean
  /** Decides whether a message is lost. */
  shouldLose: (bytes: Uint8Array) => boolean
  copies: number
  /** The number of following messages whose ids other publishers use up first. */
  stolenIds: number
}

const LATENCY = 1

/** A stream in memory on virtual time, shared by a spec's nodes. */
export class FakeCluster {
  readonly messages: StreamMessage[] = []
  readonly snapshots = new Map<string, Uint8Array[]>()
  /** The instance ids of the nodes that respond to queries. */
  readonly instanceIds = new Map<string, string>()
  readonly clock: Clock
  /** The offset of the stream leader's clock from the spec's clock, in milliseconds. */
  clockOffsetMs = 0
  first = 1
  last = 0
  /** The servers whose replicas are incomplete. */
  laggingServers: readonly string[] = []
  readonly #ids = new Map<string, number>()
  readonly #feeds = new Set<() => void>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Stores bytes from any publisher. */
  put(bytes: Uint8Array, id?: string): number {
    const known = id === undefined ? undefined : this.#ids.get(id)
    if (known !== undefined) return known
    this.last++
    if (id !== undefined) this.#ids.set(id, this.last)
    this.messages.push({
      position: this.last,
      time: this.clock.now() + this.clockOffsetMs,
      bytes: new Uint8Array(bytes),
    })
    for (const feed of Array.from(this.#feeds)) feed()
    return this.last
  }

  /** Loses the messages at the given range of positions. */
  lose(from: number, to: number): void {
    const remaining = this.messages.filter(({ position }) => position < from || position > to)
    this.messages.splice(0, this.messages.length, ...remaining)
  }

  trim(upTo: number): void {
    this.first = Math.max(this.first, Math.min(upTo, this.last) + 1)
    while ((this.messages[0]?.position ?? this.first) < this.first) this.messages.shift()
  }

  /** Runs a task whenever a message is stored. */
  onPut(task: () => void): () => void {
    this.#feeds.add(task)
    return () => this.#feeds.delete(task)
  }
}

export class FakeStream implements Stream {
  readonly faults: Faults = {
    isDeaf: false,
    isMute: false,
    isStalled: false,
    shouldLose: () => false,
    copies: 1,
    stolenIds: 0,
  }
  maxMessageBytes: number
  readonly #cluster: FakeCluster
  published = 0
  trims: number[] = []

  constructor(cluster: FakeCluster, largest = 4_000) {
    this.#cluster = cluster
    this.maxMessageBytes = largest
  }

  publish(bytes: Uint8Array, id: string): Observable<Publication> {
    return new Observable(subscriber => {
      this.published++
      const { clock } = this.#cluster
      if (bytes.length > this.maxMessageBytes) {
        subscriber.error(new StreamError('refused', 'the message is too large'))
        return undefined
      }
      const sent = new Uint8Array(bytes)
      clock.schedule(LATENCY, () => {
        if (this.faults.isDeaf || this.faults.shouldLose(sent)) {
          this.#later(1_000, () => subscriber.error(new StreamError('lost', 'no answer')))
          return
        }
        if (this.faults.stolenIds-- > 0) this.#cluster.put(new Uint8Array([1]), id)
        const before = this.#cluster.last
        let position = this.#cluster.put(sent, id)
        const isDuplicate = this.#cluster.last === before
        for (let more = 1; more < this.faults.copies; more++) position = this.#cluster.put(sent)
        if (this.faults.isMute) this.#later(1_000, () => subscriber.error(new StreamError('lost', 'no answer')))
        else
          this.#later(LATENCY, () => {
            subscriber.next({ position, isDuplicate })
            subscriber.complete()
          })
      })
      return undefined
    })
  }

  follow(after: number): Observable<StreamMessage> {
    return new Observable(subscriber => {
      let at = after - 1
      const bring = (): void => {
        for (const message of this.#cluster.messages) {
          if (message.position <= at || this.faults.isStalled || subscriber.closed) continue
          at = message.position
          subscriber.next(message)
        }
      }
      const scheduleDelivery = (): void => this.#later(LATENCY, bring)
      scheduleDelivery()
      return this.#cluster.onPut(scheduleDelivery)
    })
  }

  bounds(): Observable<StreamBounds> {
    const { first, last, laggingServers, messages } = this.#cluster
    return this.#answer(() => ({
      first,
      last,
      laggingServers,
      missingCount: Math.max(0, last - first + 1 - messages.length),
    }))
  }

  trim(upTo: number): Observable<never> {
    return this.#done(() => {
      this.trims.push(upTo)
      this.#cluster.trim(upTo)
    })
  }

  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never> {
    return this.#done(() =>
      this.#cluster.snapshots.set(
        name,
        Array.from(blocks, block => new Uint8Array(block)),
      ),
    )
  }

  snapshots(): Observable<readonly SnapshotName[]> {
    return this.#answer(() =>
      Array.from(this.#cluster.snapshots, ([name, blocks]) => ({
        name,
        size: blocks.reduce((sum, { length }) => sum + length, 0),
      })),
    )
  }

  getSnapshot(name: string): Observable<Uint8Array> {
    return defer(() => from(this.#cluster.snapshots.get(name) ?? []))
  }

  removeSnapshot(name: string): Observable<never> {
    return this.#done(() => this.#cluster.snapshots.delete(name))
  }

  removeOrphans(): Observable<never> {
    return EMPTY
  }

  queryNode(nodeId: string): Observable<string | undefined> {
    return this.#answer(() => this.#cluster.instanceIds.get(nodeId))
  }

  respondForNode(nodeId: string, instanceId: string): Observable<never> {
    return new Observable(() => {
      this.#cluster.instanceIds.set(nodeId, instanceId)
      return () => this.#cluster.instanceIds.delete(nodeId)
    })
  }

  close(): Observable<never> {
    return EMPTY
  }

  #later(delay: number, task: () => void): void {
    this.#cluster.clock.schedule(delay, task)
  }

  #answer<T>(read: () => T): Observable<T> {
    return new Observable(subscriber => {
      this.#later(LATENCY, () => {
        if (this.faults.isDeaf) return
        subscriber.next(read())
        subscriber.complete()
      })
    })
  }

  #done(task: () => unknown): Observable<never> {
    return this.#answer(task).pipe(ignoreElements())
  }
}
