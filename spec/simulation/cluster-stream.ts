import { EMPTY, Observable, type Subscriber } from 'rxjs'
import {
  type Publication,
  type SnapshotName,
  type Stream,
  type StreamBounds,
  StreamError,
  type StreamMessage,
} from '../../src/server/log/cluster/stream.js'
import type { StreamFault } from './cluster-schedule.js'
import type { SimCluster } from './cluster-shared.js'

/** The time in milliseconds after which publishing without a quorum or a response fails. */
const GIVE_UP_MS = 400
const lostError = (): StreamError => new StreamError('lost', 'no answer')

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
      let at = random.chance(0.2) ? Math.max(0, after - random.int(1, 2)) : after
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
