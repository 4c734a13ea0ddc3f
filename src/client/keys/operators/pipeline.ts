import {
  Observable,
  type OperatorFunction,
  Subject,
  type Subscriber,
  takeUntil,
  throwError,
  type Unsubscribable,
} from 'rxjs'
import { OverflowError } from '../../../core/util/errors.js'

/** How items become requests. */
export interface PipelineOptions {
  /** Most requests under way at a time. Default 64. */
  readonly concurrency?: number | undefined
  /** Most items that wait: for their turn, or with a result for that of an earlier one. One more fails the stream with `overflow`. Default 65,536. */
  readonly buffer?: number | undefined
  /** While a request for a key is under way, keep only the newest item for it. For sliders and set points. Default `false`. */
  readonly latest?: boolean | undefined
}

interface Slot<T, R> {
  readonly item: T
  readonly key: unknown
  isDone: boolean
  result: { readonly value: R } | undefined
  /** What is under way, unless it ended at once. */
  request: Unsubscribable | undefined
}

/** An item that waits, and its places in the two queues. */
interface Waiting<T, R> {
  readonly inOrder: Place<Slot<T, R>>
  readonly inLine: Place<Slot<T, R>>
}

const CONCURRENCY = 64
const BUFFER = 65_536

/**
 * `concatMap` that does not wait: up to `concurrency` requests are under way, started in the order of the source, and
 * their results come in that order. An error of the source or of a request ends it at once; completion waits for the
 * results that are due. With `latest` a waiting item gives way to a newer one of the same key, and a key has one
 * request under way.
 *
 * @param request - makes the request of an item; only its last result counts
 * @param keyOf - which items belong together for `latest`
 */
export function pipeline<T, R>(
  request: (item: T) => Observable<R>,
  keyOf: (item: T) => unknown,
  options: PipelineOptions,
): OperatorFunction<T, R> {
  return source =>
    new Observable<R>(subscriber => {
      const run = new Pipeline(request, options, subscriber)
      const ended = new Subject<void>()
      subscriber.add(run)
      // Before the source is subscribed: one that emits at once has to be stopped, too.
      subscriber.add(() => ended.next())
      source.pipe(takeUntil(ended)).subscribe({
        next: item => run.take(item, keyOf),
        error: error => subscriber.error(error),
        complete: () => run.sourceCompleted(),
      })
    })
}

class Pipeline<T, R> implements Unsubscribable {
  readonly #request: (item: T) => Observable<R>
  readonly #subscriber: Subscriber<R>
  readonly #concurrency: number
  readonly #buffer: number
  readonly #latest: boolean
  /** All items whose result is due, in the order of their results. */
  readonly #order = new Queue<Slot<T, R>>()
  /** Those of them that wait for their turn. */
  readonly #line = new Queue<Slot<T, R>>()
  /** Items that wait: for their turn, or with a result for that of an earlier one. */
  #held = 0
  /** With `latest`: the item that waits per key, and the keys that are busy. */
  readonly #newest = new Map<unknown, Waiting<T, R>>()
  readonly #busy = new Set<unknown>()
  #running = 0
  #starting = false
  /** Something ended while requests were started: look at what waits once more. */
  #again = false
  #completed = false

  constructor(request: (item: T) => Observable<R>, options: PipelineOptions, subscriber: Subscriber<R>) {
    this.#request = request
    this.#subscriber = subscriber
    this.#concurrency = options.concurrency ?? CONCURRENCY
    this.#buffer = options.buffer ?? BUFFER
    this.#latest = options.latest ?? false
  }

  take(item: T, keyOf: (item: T) => unknown): void {
    const slot = this.#slotOf(item, keyOf)
    if (slot === undefined) return
    const waiting = { inOrder: this.#order.add(slot), inLine: this.#line.add(slot) }
    this.#held++
    if (this.#latest) this.#replace(slot.key, waiting)
    this.#start()
    if (this.#held <= this.#buffer) return
    this.#subscriber.error(new OverflowError('The buffer of the operator', this.#buffer))
  }

  unsubscribe(): void {
    // Not a `Subscription` of all requests, from which one is removed by looking at all.
    for (let place = this.#order.first; place !== undefined; place = this.#order.first) {
      this.#order.remove(place)
      place.item.request?.unsubscribe()
    }
  }

  sourceCompleted(): void {
    this.#completed = true
    this.#drain()
  }

  #slotOf(item: T, keyOf: (item: T) => unknown): Slot<T, R> | undefined {
    try {
      return { item, key: this.#latest ? keyOf(item) : undefined, isDone: false, result: undefined, request: undefined }
    } catch (error) {
      this.#subscriber.error(error)
      return undefined
    }
  }

  /** What gives way to a newer item leaves at once: however long the first request takes, nothing gathers behind it. */
  #replace(key: unknown, waiting: Waiting<T, R>): void {
    const older = this.#newest.get(key)
    this.#newest.set(key, waiting)
    if (older === undefined) return
    this.#order.remove(older.inOrder)
    this.#line.remove(older.inLine)
    this.#held--
  }

  // Requests that end at once call this again from within; the loop that runs then looks once more.
  #start(): void {
    this.#again = true
    if (this.#starting) return
    this.#starting = true
    while (this.#again) {
      this.#again = false
      this.#startWaiting()
    }
    this.#starting = false
  }

  #startWaiting(): void {
    while (this.#running < this.#concurrency && !this.#subscriber.closed) {
      const place = this.#next()
      if (place === undefined) return
      this.#line.remove(place)
      this.#run(place.item)
    }
  }

  /**
   * Whose turn it is. With `latest` a value that has to wait for its key is passed over; there is one of each busy key
   * at most.
   */
  #next(): Place<Slot<T, R>> | undefined {
    let place = this.#line.first
    while (this.#latest && place !== undefined && this.#busy.has(place.item.key)) place = place.after
    return place
  }

  #run(slot: Slot<T, R>): void {
    this.#running++
    this.#held--
    if (this.#latest) {
      this.#newest.delete(slot.key)
      this.#busy.add(slot.key)
    }
    const request = this.#requestOf(slot.item).subscribe({
      next: value => {
        slot.result = { value }
      },
      error: error => this.#subscriber.error(error),
      complete: () => {
        slot.request = undefined
        this.#finish(slot)
      },
    })
    if (request.closed) return
    slot.request = request
    // Ended by what the request did when it was made.
    if (this.#subscriber.closed) request.unsubscribe()
  }

  #requestOf(item: T): Observable<R> {
    try {
      return this.#request(item)
    } catch (error) {
      return throwError(() => error)
    }
  }

  #finish(slot: Slot<T, R>): void {
    this.#running--
    this.#held++
    this.#busy.delete(slot.key)
    slot.isDone = true
    this.#drain()
    this.#start()
  }

  #drain(): void {
    for (let place = this.#order.first; place?.item.isDone; place = this.#order.first) {
      this.#order.remove(place)
      this.#held--
      if (place.item.result) this.#subscriber.next(place.item.result.value)
    }
    if (this.#order.first) return
    if (this.#completed) this.#subscriber.complete()
  }
}

/** An item's place in a {@link Queue}. */
export interface Place<T> {
  readonly item: T
  before: Place<T> | undefined
  /** The place behind it. */
  after: Place<T> | undefined
}

/**
 * A queue that is left at any place at once, however long it is: what has left takes no room.
 *
 * @example
 * ```ts
 * const queue = new Queue<string>()
 * const place = queue.add('a')
 * queue.remove(place)
 * ```
 */
export class Queue<T> {
  #first: Place<T> | undefined
  #last: Place<T> | undefined

  /** The place at its head. */
  get first(): Place<T> | undefined {
    return this.#first
  }

  /** Puts an item at the end. */
  add(item: T): Place<T> {
    const place: Place<T> = { item, before: this.#last, after: undefined }
    if (this.#last) this.#last.after = place
    else this.#first = place
    this.#last = place
    return place
  }

  /** Takes an item out; to be called once with each place. */
  remove(place: Place<T>): void {
    const { before, after } = place
    // What has lived long would keep alive what came after it, one after the other.
    place.before = undefined
    place.after = undefined
    if (before) before.after = after
    else this.#first = after
    if (after) after.before = before
    else this.#last = before
  }
}
