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

/** ms after which publishing without a quorum or a response fails. */
const GIVE_UP_MS = 400
const lost = (): StreamError => new StreamError('lost', 'no answer')

/** One node's connection to the stream, for one run of the node. */
export class SimStream implements Stream {
  readonly maxMessageBytes: number
  readonly #cluster: SimCluster
  readonly #troubles: ReadonlySet<StreamFault>
  #arrival = 0
  #feed: Subscriber<StreamMessage> | undefined

  constructor(cluster: SimCluster, troubles: ReadonlySet<StreamFault>) {
    this.#cluster = cluster
    this.#troubles = troubles
    this.maxMessageBytes = cluster.largest
  }

  break(): void {
    this.#feed?.error(lost())
  }

  publish(bytes: Uint8Array, id: string): Observable<Publication> {
    return new Observable(subscriber => {
      if (bytes.length > this.maxMessageBytes) {
        subscriber.error(new StreamError('refused', 'the message is too large'))
        return
      }
      const { time, random } = this.#cluster
      const message = new Uint8Array(bytes)
      if (this.#troubles.has('lossy') && random.chance(0.5)) this.#giveUp(subscriber, random.int(1, GIVE_UP_MS))
      else if (this.#troubles.has('late')) {
        this.#giveUp(subscriber, random.int(1, GIVE_UP_MS))
        time.after(random.int(GIVE_UP_MS, 3_000), () => this.#commit(message, id))
      } else this.#send(message, id, subscriber)
    })
  }

  follow(after: number): Observable<StreamMessage> {
    return new Observable(subscriber => {
      this.#feed = subscriber
      const { random } = this.#cluster
      // Some messages may be delivered again.
      let at = random.chance(0.2) ? Math.max(0, after - random.int(1, 2)) : after
      let isOnItsWay = false
      const bring = (): void => {
        isOnItsWay = false
        for (let message = this.#cluster.next(at); message !== undefined; message = this.#cluster.next(at)) {
          if (subscriber.closed || this.#troubles.has('stalled')) return
          at = message.position
          subscriber.next(message)
        }
      }
      const soon = (): void => {
        if (isOnItsWay) return
        isOnItsWay = true
        this.#later(bring)
      }
      soon()
      return this.#cluster.onPut(soon)
    })
  }

  bounds(): Observable<StreamBounds> {
    return this.#answer(() => ({ first: this.#cluster.first, last: this.#cluster.last }))
  }

  trim(upTo: number): Observable<never> {
    return this.#does(() => this.#cluster.trim(upTo))
  }

  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never> {
    return this.#does(() => {
      const cluster = this.#cluster
      const fate = cluster.snapshotFate
      if (fate !== 'misread') cluster.snapshotFate = undefined
      if (fate === 'fails') throw lost()
      const kept = Array.from(blocks, block => new Uint8Array(block))
      const others = Array.from(cluster.snapshots.keys())
      if (fate === 'damaged' && others.length > 0 && !others.some(other => cluster.damaged.has(other))) {
        const block = kept[cluster.random.int(0, kept.length - 1)]
        const at = cluster.random.int(0, (block?.length ?? 1) - 1)
        if (block) block[at] = (block[at] ?? 0) ^ 1
        cluster.damaged.add(name)
      }
      cluster.snapshots.set(name, kept)
    })
  }

  snapshots(): Observable<readonly SnapshotName[]> {
    return this.#answer(() => Array.from(this.#cluster.snapshots.keys(), name => ({ name, size: 1 })))
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
    return this.#does(() => this.#cluster.snapshots.delete(name))
  }

  removeOrphans(): Observable<never> {
    return EMPTY
  }

  queryNode(): Observable<string | undefined> {
    return this.#answer(() => undefined)
  }

  respondForNode(): Observable<never> {
    return EMPTY
  }

  close(): Observable<never> {
    return EMPTY
  }

  #send(message: Uint8Array, id: string, subscriber: Subscriber<Publication>): void {
    const { time, random, latency } = this.#cluster
    this.#arrival = Math.max(this.#arrival, time.now + random.int(1, latency))
    time.after(this.#arrival - time.now, () => {
      const before = this.#cluster.last
      const position = this.#troubles.has('deaf') ? undefined : this.#commit(message, id)
      const isDuplicate = this.#cluster.last === before
      if (this.#troubles.has('doubled')) time.after(random.int(0, 500), () => this.#commit(message, undefined))
      if (position === undefined || this.#troubles.has('mute')) this.#giveUp(subscriber, GIVE_UP_MS)
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
    this.#cluster.time.after(after, () => subscriber.error(lost()))
  }

  #later(task: () => void): void {
    this.#cluster.time.after(this.#cluster.random.int(1, this.#cluster.latency), task)
  }

  #answer<T>(read: () => T): Observable<T> {
    return new Observable(subscriber => {
      this.#later(() => {
        if (this.#troubles.has('deaf') || !this.#cluster.hasQuorum) {
          this.#giveUp(subscriber, GIVE_UP_MS)
          return
        }
        subscriber.next(read())
        subscriber.complete()
      })
    })
  }

  #does(task: () => unknown): Observable<never> {
    return new Observable(subscriber => {
      this.#later(() => {
        if (this.#troubles.has('deaf') || subscriber.closed) {
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
