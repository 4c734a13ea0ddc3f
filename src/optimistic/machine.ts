import { Observable, Subscription } from 'rxjs'
import { ClosedError, StateStoreError } from '../base/errors.js'
import type { Hlc } from '../hlc/hlc.js'
import type { Freshness } from '../keys/freshness.js'
import type { KeySource } from '../keys/source.js'
import type { Known, WatchObserver } from '../keys/watch.js'
import type { RawEntry } from '../keys/watch-state.js'
import type { Fate } from './aftermath.js'
import { Course } from './course.js'
import type { Terms } from './options.js'
import { Sender } from './sender.js'
import { Show } from './show.js'
import type { Lateness, OptimisticResult, OptimisticState } from './state.js'
import { Teller } from './teller.js'
import { Waiting } from './waiting.js'
import { type Write, writeOf } from './write.js'

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
  #watched = UNWATCHED
  #isUp = false
  #failure: StateStoreError | undefined
  #late: Lateness | undefined
  #lookers = 0
  #link: Subscription | undefined

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
    this.#start()
  })

  /** Writes a value; unsubscribing takes it back if it was not sent yet. */
  write(value: T): Observable<OptimisticResult<T>> {
    return new Observable(subscriber => {
      const write = this.#written(value, error => subscriber.error(error))
      if (write === undefined) return
      write.observer = subscriber
      subscriber.add(() => {
        write.observer = undefined
        this.#waiting.withdraw(write)
        this.#go()
      })
      this.#begin(write)
    })
  }

  signal(raw: RawEntry | undefined, freshness: Freshness): void {
    const wasLive = this.#isLive
    const before = this.#watched.raw
    this.#watched = { raw, freshness }
    if (wasLive && !this.#isLive) this.#course.learn({ type: 'lost' })
    if (raw && raw !== before) this.#course.learn({ type: 'told', bytes: raw.value, version: raw.version })
    // What was told before is what the store has on this connection, too, whatever was learnt on others. But a deletion that
    // was told then need not be the last one.
    else if (raw && this.#isLive && !wasLive)
      this.#course.learn({ type: 'told', bytes: raw.value, version: raw.value && raw.version })
    this.#go()
  }

  error(error: StateStoreError): void {
    this.#end(error).error(error)
  }

  complete(): void {
    this.#end(new ClosedError()).complete()
  }

  get #isLive(): boolean {
    return this.#watched.freshness.state === 'live'
  }

  /** The newest write that is still under way. */
  get #shown(): Write<T> | undefined {
    return this.#waiting.write ?? this.#sender.active ?? this.#course.held
  }

  /** What to show now; while nobody looks, what other watches of the key know. */
  get state(): OptimisticState<T> {
    const { registry } = this.#source.host
    const { raw, freshness } = (this.#link ? undefined : registry.peek(this.#source.key)) ?? this.#watched
    const { held, error, truth } = this.#course
    const shown = this.#shown
    const doubt = shown && shown === held ? error : undefined
    const known = this.#link || !raw ? truth.known : { bytes: raw.value, version: raw.version, epoch: 0 }
    return this.#show.stateOf({ known, shown, doubt, freshness, failure: this.#failure, late: this.#late })
  }

  #written(value: T, failed: (error: unknown) => void): Write<T> | undefined {
    try {
      // While a write is shown, what that one was to replace was seen last.
      return writeOf(this.#source, value, this.#shown ? this.#shown.seen : this.#course.truth.known)
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      this.#failure = error
      this.#teller.tell()
      failed(error)
      return undefined
    }
  }

  #begin(write: Write<T>): void {
    this.#failure = undefined
    this.#late = undefined
    this.#waiting.put(write)
    this.#start()
    this.#go()
  }

  #start(): void {
    if (this.#link) return
    const { host, key } = this.#source
    const link = new Subscription()
    this.#link = link
    link.add(host.link$.subscribe(({ state }) => this.#linked(state === 'connected')))
    host.registry.join(key, this)
    if (this.#link === link) this.#waiting.open()
  }

  #linked(isUp: boolean): void {
    if (isUp === this.#isUp) return
    this.#isUp = isUp
    if (!isUp) this.#waiting.lost()
    this.#course.link(isUp)
    this.#go()
  }

  /** Does what can be done now, and tells of it. */
  #go(): void {
    const { truth, isDoubtful } = this.#course
    this.#course.review()
    const chances = {
      isUp: this.#isUp,
      isBusy: this.#sender.active !== undefined,
      isLive: this.#isLive && !isDoubtful,
      current: this.#show.decode(truth.known).value,
    }
    const write = this.#waiting.next(chances)
    if (write) {
      this.#course.sent()
      this.#sender.send(write, truth.known, this.#course.place)
    }
    this.#teller.tell()
    this.#rest()
  }

  #applied(write: Write<T>, value: T, version: Hlc | undefined): void {
    const { bytes, from } = write
    if (this.#link && from && !this.#course.learn({ type: 'written', bytes, version, from }))
      this.#course.hold(write, undefined, this.#isUp)
    this.#follow({ bytes, version })
    this.#failure = undefined
    this.#late = write.lateness
    this.#teller.tell()
    write.settle(this.#source.key.text, 'applied', value, version)
    this.#go()
  }

  #outdated(write: Write<T>): void {
    if (this.#link) {
      this.#course.doubt()
      this.#waiting.back(write)
    } else write.fail(new ClosedError())
    this.#go()
  }

  #lost(write: Write<T>, error: StateStoreError): void {
    if (this.#link) this.#course.hold(write, error, this.#isUp)
    this.#teller.tell()
    write.fail(error)
    this.#go()
  }

  #refuse(write: Write<T>, error: StateStoreError): void {
    this.#failure = error
    this.#teller.tell()
    write.fail(error)
    this.#go()
  }

  #decided({ bytes }: Write<T>, fate: Fate, error: StateStoreError | undefined): void {
    if (fate === 'written') this.#follow({ bytes, version: this.#course.truth.known?.version })
    if (fate === 'not written') this.#failure = error
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
    if (this.#link === undefined || this.#lookers > 0 || this.#shown) return
    this.#source.host.registry.leave(this.#source.key, this)
    this.#stop()
  }

  #stop(): void {
    this.#link?.unsubscribe()
    this.#link = undefined
    this.#course.stop()
    this.#waiting.close()
    this.#watched = UNWATCHED
    this.#isUp = false
  }
}
