import { Observable, type Subscriber, type Unsubscribable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import type { WatchObserver } from '../watch/watch.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import type { Key } from './key.js'
import { type KeySource, SOURCE } from './source.js'

/**
 * Entries of a changing set of keys in one stream. Every value of the source is the whole set. Completes when the source
 * has and no watch is left, errors with the source or with any watch.
 */
export const watchAll = <T>(keys$: Observable<readonly Key<T>[]>): Observable<Entry<T>> =>
  new Observable<Entry<T>>(subscriber => {
    const group = new Group(subscriber)
    subscriber.add(group)
    subscriber.add(
      keys$.subscribe({
        next: keys => group.set(keys),
        error: error => subscriber.error(error),
        complete: () => group.sourceCompleted(),
      }),
    )
  })

/** The watches of one subscriber. */
class Group<T> implements Unsubscribable {
  readonly #subscriber: Subscriber<Entry<T>>
  readonly #members = new Map<string, Member<T>>()
  /** Counts the sets: an entry may make the subscriber give the next one while this one is joined. */
  #sets = 0
  #completed = false

  constructor(subscriber: Subscriber<Entry<T>>) {
    this.#subscriber = subscriber
  }

  set(keys: readonly Key<T>[]): void {
    const number = ++this.#sets
    const wanted = new Map(keys.map(key => [key.id, key]))
    for (const [id, member] of Array.from(this.#members)) {
      if (number !== this.#sets) return
      if (!wanted.has(id)) this.#leave(member)
    }
    for (const [id, key] of wanted) {
      if (number !== this.#sets || this.#subscriber.closed) return
      if (!this.#members.has(id)) this.#join(new Member(key[SOURCE], this))
    }
  }

  sourceCompleted(): void {
    this.#completed = true
    this.#completeIfDone()
  }

  next(entry: Entry<T>): void {
    this.#subscriber.next(entry)
  }

  error(error: StateStoreError): void {
    this.#subscriber.error(error)
  }

  /** A watch is over. */
  ended(member: Member<T>): void {
    this.#leave(member)
    this.#completeIfDone()
  }

  unsubscribe(): void {
    for (const member of Array.from(this.#members.values())) this.#leave(member)
  }

  #join(member: Member<T>): void {
    const { key, host } = member.source
    this.#members.set(key.id, member)
    host.registry.join(key, member)
  }

  #leave(member: Member<T>): void {
    const { key, host } = member.source
    member.left = true
    this.#members.delete(key.id)
    host.registry.leave(key, member)
  }

  #completeIfDone(): void {
    if (this.#completed && this.#members.size === 0) this.#subscriber.complete()
  }
}

/** A key of a group, as its watch sees it. No subscription of its own: a group may have ten thousand. */
class Member<T> implements WatchObserver {
  readonly source: KeySource<T>
  /** A listener that is being told may leave meanwhile. */
  left = false
  readonly #group: Group<T>
  #shown: RawEntry | undefined = undefined

  constructor(source: KeySource<T>, group: Group<T>) {
    this.source = source
    this.#group = group
  }

  signal(raw: RawEntry | undefined): void {
    if (this.left || raw === undefined || raw === this.#shown) return
    this.#shown = raw
    this.#group.next(this.source.entry(raw))
  }

  error(error: StateStoreError): void {
    if (!this.left) this.#group.error(error)
  }

  complete(): void {
    if (!this.left) this.#group.ended(this)
  }
}
