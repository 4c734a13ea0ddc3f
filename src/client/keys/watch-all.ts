import { Observable, type Subscriber, type Unsubscribable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import { ENTRIES, type WatchObserver } from '../watch/watch.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import { identityOf } from './json.js'
import type { Key } from './key.js'
import { type KeySource, SOURCE } from './source.js'

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

class Group<T> implements Unsubscribable {
  readonly #subscriber: Subscriber<Entry<T>>
  readonly #members = new Map<string, Member<T>>()
  /**
   * Increases with every set, because an entry may make the source emit the next set while this one is still being
   * joined.
   */
  #generation = 0
  #isSourceComplete = false

  constructor(subscriber: Subscriber<Entry<T>>) {
    this.#subscriber = subscriber
  }

  set(keys: readonly Key<T>[]): void {
    const generation = ++this.#generation
    const wanted = new Map(keys.map(key => [key.id, key]))
    for (const [id, member] of Array.from(this.#members)) {
      if (generation !== this.#generation) return
      if (!wanted.has(id)) this.#leave(member)
    }
    for (const [id, key] of wanted) {
      if (generation !== this.#generation || this.#subscriber.closed) return
      const codec = this.#members.get(id)?.source.codec
      if (codec === undefined || identityOf(codec) !== identityOf(key[SOURCE].codec))
        this.#join(new Member(key[SOURCE], this))
    }
  }

  sourceCompleted(): void {
    this.#isSourceComplete = true
    this.#completeIfDone()
  }

  next(entry: Entry<T>): void {
    this.#subscriber.next(entry)
  }

  error(error: StateStoreError): void {
    this.#subscriber.error(error)
  }

  memberEnded(member: Member<T>): void {
    this.#leave(member)
    this.#completeIfDone()
  }

  unsubscribe(): void {
    for (const member of Array.from(this.#members.values())) this.#leave(member)
  }

  #join(member: Member<T>): void {
    const { key, host } = member.source
    const replaced = this.#members.get(key.id)
    if (replaced) replaced.hasLeft = true
    this.#members.set(key.id, member)
    host.registry.join(key, member)
    // The replaced member leaves last, so that the registration of the key continues.
    if (replaced) host.registry.leave(key, replaced)
  }

  #leave(member: Member<T>): void {
    const { key, host } = member.source
    member.hasLeft = true
    this.#members.delete(key.id)
    host.registry.leave(key, member)
  }

  #completeIfDone(): void {
    if (this.#isSourceComplete && this.#members.size === 0) this.#subscriber.complete()
  }
}

/** Observes the watch of one key. Has no subscription, to save memory: a group may have ten thousand members. */
class Member<T> implements WatchObserver {
  readonly emits = ENTRIES
  readonly source: KeySource<T>
  /** A watch may still notify a member that has left. */
  hasLeft = false
  readonly #group: Group<T>
  #last: RawEntry | undefined = undefined

  constructor(source: KeySource<T>, group: Group<T>) {
    this.source = source
    this.#group = group
  }

  signal(entries: readonly RawEntry[]): void {
    for (const raw of entries) {
      if (this.hasLeft || raw === this.#last) continue
      this.#last = raw
      this.#group.next(this.source.entry(raw))
    }
  }

  error(error: StateStoreError): void {
    if (!this.hasLeft) this.#group.error(error)
  }

  complete(): void {
    if (!this.hasLeft) this.#group.memberEnded(this)
  }
}
