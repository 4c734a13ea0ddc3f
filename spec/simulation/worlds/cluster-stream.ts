import { EMPTY, Observable, type Subscriber } from 'rxjs'
import type { Random } from '../../../harness/random.js'
import {
  type Publication,
  type SnapshotName,
  type Stream,
  type StreamBounds,
  StreamError,
  type StreamMessage,
} from '../../../src/server/log/cluster/stream.js'
import type { StreamFault } from './cluster-schedule.js'
import type { VirtualTime } from './virtual-time.js'

/** The time in milliseconds after which publishing without a quorum or a response fails. */
const GIVE_UP_MS = 400
const lostError = (): StreamError => new StreamError('lost', 'no answer')

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

/** One node's connection to the stream during one run of the node. */
export class SimStream implements Stream {
  readonly maxMessageBytes: number
  readonly #cluster: SimCluster
  readonly #faults: ReadonlySet<StreamFault>
  #lastArrival = 0
  #follower: Subscriber<StreamMessage> | undefined

  constructor(cluster: SimCluster, faults: ReadonlySet<StreamFault>) {
    this.#cluster = cluster
    this.#faults = faults
    this.maxMessageBytes = cluster.largest
  }

  break(): void {
    this.#follower?.error(lostError())
  }

  publish(bytes: Uint8Array, id: string): Observable<Publication> {
    return new Observable(subscriber => {
      if (bytes.length > this.maxMessageBytes) {
        subscriber.error(new StreamError('refused', 'the message is too large'))
        return
      }
      const { time, random } = this.#cluster
      const message = new Uint8Array(bytes)
      if (this.#faults.has('lossy') && random.chance(0.5)) this.#giveUp(subscriber, random.int(1, GIVE_UP_MS))
      else if (this.#faults.has('late')) {
        this.#giveUp(subscriber, random.int(1, GIVE_UP_MS))
        time.after(random.int(GIVE_UP_MS, 3_000), () => this.#commit(message, id))
      } else this.#send(message, id, subscriber)
    })
  }

  follow(after: number): Observable<StreamMessage> {
    return new Observable(subscriber => {
      this.#follower = subscriber
      const { random } = this.#cluster
      // Some messages may be delivered again.
      let at = Math.max(0, after - (random.chance(0.2) ? random.int(2, 3) : 1))
      let isScheduled = false
      const deliver = (): void => {
        isScheduled = false
        for (let message = this.#cluster.next(at); message !== undefined; message = this.#cluster.next(at)) {
          if (subscriber.closed || this.#faults.has('stalled')) return
          at = message.position
          subscriber.next(message)
        }
      }
      const scheduleDelivery = (): void => {
        if (isScheduled) return
        isScheduled = true
        this.#later(deliver)
      }
      scheduleDelivery()
      return this.#cluster.onPut(scheduleDelivery)
    })
  }

  bounds(): Observable<StreamBounds> {
    return this.#respond(() => ({ first: this.#cluster.first, last: this.#cluster.last }))
  }

  trim(upTo: number): Observable<never> {
    return this.#execute(() => this.#cluster.trim(upTo))
  }

  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never> {
    return this.#execute(() => {
      const cluster = this.#cluster
      const fate = cluster.snapshotFate
      if (fate !== 'misread') cluster.snapshotFate = undefined
      if (fate === 'fails') throw lostError()
      const stored = Array.from(blocks, block => new Uint8Array(block))
      const others = Array.from(cluster.snapshots.keys())
      if (fate === 'damaged' && others.length > 0 && !others.some(other => cluster.damaged.has(other))) {
        const block = stored[cluster.random.int(0, stored.length - 1)]
        const at = cluster.random.int(0, (block?.length ?? 1) - 1)
        if (block) block[at] = (block[at] ?? 0) ^ 1
        cluster.damaged.add(name)
      }
      cluster.snapshots.set(name, stored)
    })
  }

  snapshots(): Observable<readonly SnapshotName[]> {
    return this.#respond(() => Array.from(this.#cluster.snapshots.keys(), name => ({ name, size: 1 })))
  }

  getSnapshot(name: string): Observable<Uint8Array> {
    return new Observable(subscriber => {
      this.#later(() => {
        const cluster = this.#cluster
        const isMisread = cluster.snapshotFate === 'misread'
        if (isMisread) cluster.snapshotFate = undefined
        const blocks = cluster.snapshots.get(name) ?? []
        for (const block of isMisread ? blocks.slice(0, -1) : blocks) subscriber.next(block)
        subscriber.complete()
      })
    })
  }

  removeSnapshot(name: string): Observable<never> {
    return this.#execute(() => this.#cluster.snapshots.delete(name))
  }

  removeOrphans(): Observable<never> {
    return EMPTY
  }

  queryNode(): Observable<string | undefined> {
    return this.#respond(() => undefined)
  }

  respondForNode(): Observable<never> {
    return EMPTY
  }

  close(): Observable<never> {
    return EMPTY
  }

  #send(message: Uint8Array, id: string, subscriber: Subscriber<Publication>): void {
    const { time, random, latency } = this.#cluster
    this.#lastArrival = Math.max(this.#lastArrival, time.now + random.int(1, latency))
    time.after(this.#lastArrival - time.now, () => {
      const before = this.#cluster.last
      const position = this.#faults.has('deaf') ? undefined : this.#commit(message, id)
      const isDuplicate = this.#cluster.last === before
      if (this.#faults.has('doubled')) time.after(random.int(0, 500), () => this.#commit(message, undefined))
      if (position === undefined || this.#faults.has('mute')) this.#giveUp(subscriber, GIVE_UP_MS)
      else
        this.#later(() => {
          subscriber.next({ position, isDuplicate })
          subscriber.complete()
        })
    })
  }

  #commit(message: Uint8Array, id: string | undefined): number | undefined {
    return this.#cluster.hasQuorum ? this.#cluster.put(message, id) : undefined
  }

  #giveUp(subscriber: Subscriber<unknown>, after: number): void {
    this.#cluster.time.after(after, () => subscriber.error(lostError()))
  }

  #later(task: () => void): void {
    this.#cluster.time.after(this.#cluster.random.int(1, this.#cluster.latency), task)
  }

  #respond<T>(read: () => T): Observable<T> {
    return new Observable(subscriber => {
      this.#later(() => {
        if (this.#faults.has('deaf') || !this.#cluster.hasQuorum) {
          this.#giveUp(subscriber, GIVE_UP_MS)
          return
        }
        subscriber.next(read())
        subscriber.complete()
      })
    })
  }

  #execute(task: () => unknown): Observable<never> {
    return new Observable(subscriber => {
      this.#later(() => {
        if (this.#faults.has('deaf') || subscriber.closed) {
          this.#giveUp(subscriber, GIVE_UP_MS)
          return
        }
        try {
          task()
          subscriber.complete()
        } catch (error) {
          subscriber.error(error)
        }
      })
    })
  }
}
