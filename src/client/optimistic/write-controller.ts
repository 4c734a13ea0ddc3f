import { Observable, Subscription, take } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { ClosedError, StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { Known, WatchObserver } from '../watch/watch.js'
import type { Freshness, RawEntry } from '../watch/watch-state.js'
import { Course, type Fate } from './course.js'
import type { Terms } from './options.js'
import { Sender } from './sender.js'
import { type Scene, Show, Teller } from './show.js'
import type { OptimisticResult, OptimisticState } from './state.js'
import type { Truth } from './truth.js'
import { Waiting } from './waiting.js'
import { uponWhat, type Write, writeOf } from './write.js'

const NOTHING: Pick<Scene<unknown>, 'failure' | 'late'> = { failure: undefined, late: undefined }

/** The watch of the key and the connection, as long as the machine lives. */
interface Watching {
  readonly link: Subscription
  isUp: boolean
  known: Known
}

const UNWATCHED: Known = { raw: undefined, freshness: { state: 'connecting' } }

/**
 * One key that is written as it is watched. One write is under way at a time, the newest waits. It lives while somebody
 * looks, or a write has no result yet.
 */
export class Machine<T> implements WatchObserver {
  readonly #source: KeySource<T>
  readonly #show: Show<T>
  readonly #course: Course<T>
  readonly #sender: Sender<T>
  readonly #waiting: Waiting<T>
  #teller = new Teller(() => this.state)
  #watching: Watching | undefined
  /** What came of the last write. */
  #last = NOTHING
  #lookers = 0

  constructor(source: KeySource<T>, terms: Terms<T>) {
    this.#source = source
    this.#show = new Show(source)
    this.#course = new Course(source, terms.timeout, {
      changed: () => this.#go(),
      decided: (write, fate, error) => this.#decided(write, fate, error),
    })
    this.#waiting = new Waiting(source, terms, {
      again: () => this.#go(),
      refused: (write, error) => this.#refuse(write, error),
    })
    this.#sender = new Sender(source, terms, {
      applied: (write, value, version) => this.#applied(write, value, version),
      outdated: write => this.#outdated(write),
      lost: (write, error) => this.#lost(write, error),
      refused: (write, error) => this.#refuse(write, error),
    })
  }

  /** The states, the latest first. */
  readonly state$ = new Observable<OptimisticState<T>>(subscriber => {
    this.#lookers++
    subscriber.add(() => {
      this.#lookers--
      this.#rest()
    })
    subscriber.add(this.#teller.listen(subscriber))
    // The first state may be enough.
    if (!subscriber.closed) this.#start()
  })

  /** Writes a value; unsubscribing takes it back if it was not sent yet. */
  write(value: T): Observable<OptimisticResult<T>> {
    return new Observable(subscriber => {
      const write = this.#written(value, error => void subscriber.error(error))
      if (write === undefined) return
      write.observer = subscriber
      subscriber.add(() => {
        this.#waiting.withdraw(write)
        this.#go()
      })
      this.#begin(write)
    })
  }

  signal(raw: RawEntry | undefined, freshness: Freshness): void {
    const watching = this.#watching
    if (watching === undefined) return
    const { raw: before, freshness: earlier } = watching.known
    const wasLive = earlier.state === 'live'
    const isLive = freshness.state === 'live'
    watching.known = { raw, freshness }
    if (wasLive && !isLive) this.#course.learn({ type: 'lost' })
    if (raw && raw !== before) this.#course.learn({ type: 'told', bytes: raw.value, version: raw.version })
    // What was told before is what the store has on this connection, too, whatever was learnt on others. But a deletion that
    // was told then need not be the last one.
    else if (raw && isLive && !wasLive)
      this.#course.learn({ type: 'told', bytes: raw.value, version: raw.value && raw.version })
    this.#go()
  }

  error(error: StateStoreError): void {
    this.#end(error).error(error)
  }

  complete(): void {
    this.#end(new ClosedError()).complete()
  }

  /** The newest write that is still under way. */
  get #shown(): Write<T> | undefined {
    return this.#waiting.write ?? this.#sender.active ?? this.#course.held
  }

  /** What to show now; while nobody looks, what other watches of the key know. */
  get state(): OptimisticState<T> {
    const { held, error } = this.#course
    const { freshness } = this.#watch
    const shown = this.#shown
    const doubt = shown && shown === held ? error : undefined
    return this.#show.stateOf({ ...this.#last, known: this.#known, shown, doubt, freshness })
  }

  get #isUp(): boolean {
    return this.#watching?.isUp ?? false
  }

  get #watch(): Known {
    const { host, key } = this.#source
    return this.#watching?.known ?? host.registry.peek(key) ?? UNWATCHED
  }

  get #known(): Truth['known'] {
    const { raw } = this.#watch
    return this.#watching || !raw ? this.#course.truth.known : { bytes: raw.value, version: raw.version, epoch: 0 }
  }

  #written(value: T, failed: (error: unknown) => undefined): Write<T> | undefined {
    try {
      return writeOf(this.#source, value, uponWhat(this.#waiting.write, this.#shown, this.#known))
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      this.#last = { failure: error, late: undefined }
      this.#teller.tell()
      return failed(error)
    }
  }

  #begin(write: Write<T>): void {
    this.#last = NOTHING
    // Whoever writes upon a change of the connection may have been told of it first.
    if (this.#watching)
      this.#source.host.link$.pipe(take(1)).subscribe(({ state }) => this.#linked(state === 'connected'))
    this.#waiting.put(write)
    this.#start()
    this.#go()
  }

  #start(): void {
    if (this.#watching) return
    const { host, key } = this.#source
    const watching: Watching = { link: new Subscription(), isUp: false, known: UNWATCHED }
    this.#watching = watching
    watching.link.add(host.link$.subscribe(({ state }) => this.#linked(state === 'connected')))
    // Who was told of that may have left, or written.
    if (this.#watching !== watching) return
    host.registry.join(key, this)
    if (this.#watching === watching) this.#waiting.open()
  }

  #linked(isUp: boolean): void {
    if (this.#watching === undefined || isUp === this.#watching.isUp) return
    this.#watching.isUp = isUp
    if (!isUp) this.#waiting.lost()
    this.#course.link(isUp)
    this.#go()
  }

  /** Does what can be done now, and tells of it. */
  #go(): void {
    this.#course.review()
    const { isDoubtful, place, truth } = this.#course
    const isBusy = this.#sender.active !== undefined
    const isLive = this.#watching?.known.freshness.state === 'live' && !isDoubtful
    const current = this.#show.decode(truth.known).value
    const write = this.#waiting.next({ isUp: this.#isUp, isBusy, isLive, current })
    if (write) {
      this.#course.sent()
      this.#sender.send(write, truth.known, place)
    }
    this.#teller.tell()
    this.#rest()
  }

  #applied(write: Write<T>, value: T, version: Hlc | undefined): void {
    const { bytes, from } = write
    if (this.#watching && from && !this.#course.learn({ type: 'written', bytes, version, from }))
      this.#course.hold(write, undefined, this.#isUp)
    this.#follow({ bytes, version })
    this.#last = { failure: undefined, late: write.lateness }
    this.#teller.tell()
    write.settle(this.#source.key.text, 'applied', value, version)
    this.#go()
  }

  #outdated(write: Write<T>): void {
    this.#course.doubt()
    this.#waiting.back(write)
    if (this.#watching === undefined) this.#waiting.end(new ClosedError())
    this.#go()
  }

  #lost(write: Write<T>, error: StateStoreError): void {
    if (this.#watching) this.#course.hold(write, error, this.#isUp)
    this.#teller.tell()
    write.fail(error)
    this.#go()
  }

  #refuse(write: Write<T>, error: StateStoreError): void {
    this.#last = { failure: error, late: undefined }
    this.#teller.tell()
    write.fail(error)
    this.#go()
  }

  #decided({ bytes }: Write<T>, fate: Fate, error: StateStoreError | undefined): void {
    if (fate === 'written') this.#follow({ bytes, version: this.#course.truth.known?.version })
    if (fate === 'not written') this.#last = { failure: error, late: undefined }
  }

  /** An own write was done, upon which the next one was made. */
  #follow(seen: Write<T>['seen']): void {
    const next = this.#waiting.write
    if (next) next.seen = seen
  }

  #end(error: StateStoreError): Teller<OptimisticState<T>> {
    const ended = this.#teller
    this.#teller = new Teller(() => this.state)
    this.#stop()
    this.#waiting.end(error)
    return ended
  }

  /** Ends when there is nothing to do. */
  #rest(): void {
    if (this.#watching === undefined || this.#lookers > 0 || this.#shown) return
    // First, for who is told that nobody watches any more may look again.
    this.#stop()
    this.#source.host.registry.leave(this.#source.key, this)
  }

  #stop(): void {
    this.#watching?.link.unsubscribe()
    this.#watching = undefined
    this.#course.stop()
    this.#waiting.close()
  }
}
