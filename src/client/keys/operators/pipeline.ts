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

/** Options of concurrency and buffering. */
export interface PipelineOptions {
  /** Maximum number of requests in flight. Default 64. */
  readonly concurrency?: number | undefined
  /**
   * Maximum number of buffered items, which are not started yet or have a result that waits for an earlier one. A
   * further item fails the stream with `overflow`. Default 65,536.
   */
  readonly buffer?: number | undefined
  /**
   * While a request for a key is in flight, keeps only the newest item for that key, which suits sliders and set
   * points. Default `false`.
   */
  readonly latest?: boolean | undefined
}

interface Slot<T, R> {
  readonly item: T
  readonly key: unknown
  isDone: boolean
  result: { readonly value: R } | undefined
  /** The request; unset if it ended synchronously. */
  request: Unsubscribable | undefined
}

interface QueuedItem<T, R> {
  readonly result: QueueHandle<Slot<T, R>>
  readonly start: QueueHandle<Slot<T, R>>
}

const DEFAULT_CONCURRENCY = 64
const DEFAULT_BUFFER = 65_536

/**
 * Works like `concatMap` with concurrency: up to `concurrency` requests are in flight. They are started in source
 * order, and results are emitted in the same order. An error of the source or a request ends the stream immediately;
 * completion waits for pending results. With `latest`, a newer item replaces a waiting one of the same key, and a key
 * has at most one request in flight.
 *
 * @param request - creates the request of an item; only its last value is emitted
 * @param keyOf - groups items for `latest`
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
      // Added before subscribing, so that a source that emits synchronously is stopped.
      subscriber.add(() => ended.next())
      source.pipe(takeUntil(ended)).subscribe({
        next: item => run.enqueue(item, keyOf),
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
  readonly #results = new Queue<Slot<T, R>>()
  readonly #unstarted = new Queue<Slot<T, R>>()
  /** Number of items that are not started, and of results that wait for an earlier one. */
  #buffered = 0
  /** With `latest`, the waiting item of each key, and the keys that have a request in flight. */
  readonly #newest = new Map<unknown, QueuedItem<T, R>>()
  readonly #busyKeys = new Set<unknown>()
  #running = 0
  #isStarting = false
  /** Set when a request ends while others are being started, so that the queue is checked again. */
  #mustRecheck = false
  #isSourceComplete = false

  constructor(request: (item: T) => Observable<R>, options: PipelineOptions, subscriber: Subscriber<R>) {
    this.#request = request
    this.#subscriber = subscriber
    this.#concurrency = options.concurrency ?? DEFAULT_CONCURRENCY
    this.#buffer = options.buffer ?? DEFAULT_BUFFER
    this.#latest = options.latest ?? false
  }

  enqueue(item: T, keyOf: (item: T) => unknown): void {
    const slot = this.#slotOf(item, keyOf)
    if (slot === undefined) return
    const queued = { result: this.#results.add(slot), start: this.#unstarted.add(slot) }
    this.#buffered++
    if (this.#latest) this.#replace(slot.key, queued)
    this.#start()
    if (this.#buffered <= this.#buffer) return
    this.#subscriber.error(new OverflowError('The buffer of the operator', this.#buffer))
  }

  unsubscribe(): void {
    // A `Subscription` of all requests would take linear time to remove one.
    for (let handle = this.#results.first; handle !== undefined; handle = this.#results.first) {
      this.#results.remove(handle)
      handle.item.request?.unsubscribe()
    }
  }

  sourceCompleted(): void {
    this.#isSourceComplete = true
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

  /** Removes a replaced item immediately, so that a slow request does not accumulate items behind it. */
  #replace(key: unknown, queued: QueuedItem<T, R>): void {
    const older = this.#newest.get(key)
    this.#newest.set(key, queued)
    if (older === undefined) return
    this.#results.remove(older.result)
    this.#unstarted.remove(older.start)
    this.#buffered--
  }

  // A request that ends synchronously calls this method reentrantly; the outer loop then checks again.
  #start(): void {
    this.#mustRecheck = true
    if (this.#isStarting) return
    this.#isStarting = true
    while (this.#mustRecheck) {
      this.#mustRecheck = false
      this.#startWaiting()
    }
    this.#isStarting = false
  }

  #startWaiting(): void {
    while (this.#running < this.#concurrency && !this.#subscriber.closed) {
      const handle = this.#nextStartable()
      if (handle === undefined) return
      this.#unstarted.remove(handle)
      this.#run(handle.item)
    }
  }

  /** Returns the next item to start. With `latest`, skips the items of busy keys; each busy key has at most one. */
  #nextStartable(): QueueHandle<Slot<T, R>> | undefined {
    let handle = this.#unstarted.first
    while (this.#latest && handle !== undefined && this.#busyKeys.has(handle.item.key)) handle = handle.next
    return handle
  }

  #run(slot: Slot<T, R>): void {
    this.#running++
    this.#buffered--
    if (this.#latest) {
      this.#newest.delete(slot.key)
      this.#busyKeys.add(slot.key)
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
    // The creation of the request may have ended this subscription.
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
    this.#buffered++
    this.#busyKeys.delete(slot.key)
    slot.isDone = true
    this.#drain()
    this.#start()
  }

  #drain(): void {
    for (let handle = this.#results.first; handle?.item.isDone; handle = this.#results.first) {
      this.#results.remove(handle)
      this.#buffered--
      if (handle.item.result) this.#subscriber.next(handle.item.result.value)
    }
    if (this.#results.first) return
    if (this.#isSourceComplete) this.#subscriber.complete()
  }
}

export interface QueueHandle<T> {
  readonly item: T
  previous: QueueHandle<T> | undefined
  next: QueueHandle<T> | undefined
}

/**
 * A doubly linked queue that removes any item in constant time.
 *
 * @example
 * ```ts
 * const queue = new Queue<string>()
 * const place = queue.add('a')
 * queue.remove(place)
 * ```
 */
export class Queue<T> {
  #first: QueueHandle<T> | undefined
  #last: QueueHandle<T> | undefined

  get first(): QueueHandle<T> | undefined {
    return this.#first
  }

  add(item: T): QueueHandle<T> {
    const handle: QueueHandle<T> = { item, previous: this.#last, next: undefined }
    if (this.#last) this.#last.next = handle
    else this.#first = handle
    this.#last = handle
    return handle
  }

  remove(handle: QueueHandle<T>): void {
    const { previous, next } = handle
    // A long-lived handle would otherwise retain all its successors.
    handle.previous = undefined
    handle.next = undefined
    if (previous) previous.next = next
    else this.#first = next
    if (next) next.previous = previous
    else this.#last = previous
  }
}
