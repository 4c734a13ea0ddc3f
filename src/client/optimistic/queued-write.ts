import { defaultIfEmpty, defer, map, type Observable, type Subscription, take } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { reason, StateStoreError, TimeoutError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import { OfflineError, offlineTimeout } from './errors.js'
import { type LateWrite, limitOf, type Terms, waits } from './options.js'
import type { OptimisticResult } from './state.js'
import { UserWrite } from './user-write.js'
import { modeOf } from './write-sender.js'
import type { StoredWrite } from './write-storage.js'
import { seenOf, WriteStorageQueue } from './write-storage-queue.js'

/** Conditions for sending the next write. */
export interface SendConditions<T> {
  readonly isUp: boolean
  /** Whether another write is in flight. */
  readonly isBusy: boolean
  /** Whether the key has been read on this connection. */
  readonly isLive: boolean
  readonly current: T | undefined
}

export interface WaitingListener<T> {
  /** A condition changed: try to send. */
  again(): void
  refused(write: UserWrite<T>, error: StateStoreError): void
}

/** The newest unsent write. Decides whether and when it is sent. */
export class QueuedWrite<T> {
  readonly #source: KeySource<T>
  readonly #terms: Terms<T>
  readonly #listener: WaitingListener<T>
  readonly #writeStorageQueue: WriteStorageQueue
  #userWrite: UserWrite<T> | undefined
  /** The previous write, if the storage still has it. */
  #replaced: UserWrite<T> | undefined
  #expiry: (() => void) | undefined
  #question: Subscription | undefined
  #taking = false
  #isOpen = false
  /** Whether anything was written since `open`. */
  #isTouched = false

  constructor(source: KeySource<T>, terms: Terms<T>, listener: WaitingListener<T>) {
    this.#source = source
    this.#terms = terms
    this.#listener = listener
    this.#writeStorageQueue = new WriteStorageQueue(terms.storage, source)
  }

  get write(): UserWrite<T> | undefined {
    return this.#userWrite
  }

  /** Starts serving: loads the write that an earlier process or page stored. */
  open(): void {
    this.#isOpen = true
    this.#writeStorageQueue.load({
      done: stored => stored && this.#isOpen && this.#restore(stored),
      failed: error => this.#source.host.report(error),
    })
  }

  close(): void {
    this.#isOpen = this.#isTouched = false
  }

  /** Replaces the queued write. */
  put(write: UserWrite<T>): void {
    this.#isTouched = true
    const older = this.#userWrite
    this.#clear()
    // An unsaved write does not replace a saved one: a handler may write again before that is removed.
    if (older?.stored) this.#replaced = older
    this.#userWrite = write
    this.#arm(write)
    if (older) this.#settle(older, 'superseded')
  }

  /** Requeues a write that was sent, unless a newer one waits. */
  back(write: UserWrite<T>): void {
    const newer = this.#userWrite
    if (newer === undefined) this.put(write)
    else {
      // The older write was not applied, so the newer one must include it.
      newer.base = write.base
      this.#settle(write, 'superseded')
    }
  }

  /** Cancels a write on behalf of its caller. */
  withdraw(write: UserWrite<T>): void {
    write.observer = undefined
    if (this.#userWrite === write) this.#remove()
  }

  /** Fails the queued write; the storage keeps it. */
  end(error: StateStoreError): void {
    const write = this.#userWrite
    if (write) this.#clear()
    write?.fail(error)
  }

  /** The connection was lost, so a pending approval is void. */
  lost(): void {
    this.#question?.unsubscribe()
    if (this.#userWrite) this.#userWrite.approved = false
  }

  /** Returns and removes the write if it can be sent now. Must be called after each {@link put}. */
  next(chances: SendConditions<T>): UserWrite<T> | undefined {
    const next = this.#choose(chances)
    const replaced = this.#replaced
    this.#replaced = undefined
    // By now the storage has the new write, so it is never empty in between.
    if (replaced && !this.#userWrite?.stored) this.#writeStorageQueue.drop(replaced)
    return next
  }

  #choose(chances: SendConditions<T>): UserWrite<T> | undefined {
    const write = this.#userWrite
    if (write === undefined) return undefined
    if (write.age(this.#clock) >= limitOf(this.#terms, write)) this.#refuse(write, this.#tooLate(write))
    else if (!chances.isUp) this.#findNoConnection(write)
    else if (chances.isBusy || this.#taking) return undefined
    else if (this.#isToBeAsked(write)) this.#ask(write, chances)
    else if (modeOf(this.#terms, write) !== 'last' && !chances.isLive) return undefined
    else if (write.stored) this.#take(write)
    else return this.#remove()
    return undefined
  }

  #restore(stored: StoredWrite): void {
    const { host } = this.#source
    // Newer than the stored write.
    if (this.#isTouched) {
      this.#writeStorageQueue.drop({ id: stored.id, stored: true })
      return
    }
    try {
      const parts = { id: stored.id, own: stored.value, seen: seenOf(stored), base: stored.base }
      this.put(new UserWrite(this.#source.value(stored.value, undefined), parts, this.#clock, stored))
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      host.report(error)
      this.#writeStorageQueue.drop({ id: stored.id, stored: true })
    }
    this.#listener.again()
  }

  get #waits(): boolean {
    return waits(this.#terms.offline)
  }

  get #clock(): Clock {
    return this.#source.host.registry.clock
  }

  #tooLate(write: UserWrite<T>): StateStoreError {
    const limit = limitOf(this.#terms, write)
    return write.late && this.#waits ? offlineTimeout(limit, this.#name) : new TimeoutError(limit, this.#name)
  }

  #findNoConnection(write: UserWrite<T>): void {
    const { offline } = this.#terms
    if (offline === 'drop') {
      this.#refuse(write, new OfflineError('there is no connection', this.#name))
      return
    }
    write.late = true
    if (!this.#waits) return
    this.#arm(write)
    this.#writeStorageQueue.save(write, typeof this.#terms.conflict === 'function')
  }

  #isToBeAsked = ({ late, approved }: UserWrite<T>): boolean => this.#terms.offline === 'ask' && late && !approved

  #ask(write: UserWrite<T>, { isLive, current }: SendConditions<T>): void {
    if (!isLive || this.#question?.closed === false) return
    const { value, at: since } = write
    const age = write.age(this.#clock)
    this.#question = asked(this.#terms, { key: this.#name, value, since, age, current }).subscribe({
      next: yes => {
        write.approved = yes
        if (!yes) this.#settle(this.#remove(), 'withdrawn')
        this.#listener.again()
      },
      error: cause => {
        const why = `\`ask\` failed: ${reason(cause)}`
        this.#refuse(write, new OfflineError(why, this.#name, { cause }))
        this.#listener.again()
      },
    })
  }

  #take(write: UserWrite<T>): void {
    this.#taking = true
    const failed = (error: StateStoreError): void => {
      this.#taking = false
      // Another process could find it in the storage and send it again.
      if (this.#userWrite === write) this.#refuse(write, error)
      this.#listener.again()
    }
    const done = (isOurs: boolean): void => {
      this.#taking = false
      write.stored = false
      if (!isOurs && this.#userWrite === write) this.#settle(this.#remove(), 'superseded')
      this.#listener.again()
    }
    this.#writeStorageQueue.take(write, { done, failed })
  }

  #arm(write: UserWrite<T>): void {
    this.#expiry?.()
    const left = limitOf(this.#terms, write) - write.age(this.#clock)
    this.#expiry = this.#clock.schedule(Math.max(0, left), () => this.#listener.again())
  }

  #refuse(write: UserWrite<T>, error: StateStoreError): void {
    if (this.#userWrite === write) this.#remove()
    this.#listener.refused(write, error)
  }

  #settle(write: UserWrite<T> | undefined, outcome: OptimisticResult<T>['outcome']): void {
    write?.settle(this.#name, outcome, write.value)
  }

  #remove(): UserWrite<T> | undefined {
    const write = this.#userWrite
    if (write) {
      this.#clear()
      this.#writeStorageQueue.drop(write)
    }
    return write
  }

  #clear(): void {
    this.#userWrite = undefined
    this.#expiry?.()
    this.lost()
  }

  get #name(): string {
    return this.#source.key.text
  }
}

/** Calls `ask` for a late write; no result means no. */
const asked = <T>({ ask }: Terms<T>, late: LateWrite<T>): Observable<boolean> =>
  defer(() => ask(late)).pipe(
    take(1),
    map(yes => yes === true),
    defaultIfEmpty(false),
  )
