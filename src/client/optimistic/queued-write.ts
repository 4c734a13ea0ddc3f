import { defaultIfEmpty, defer, map, type Observable, type Subscription, take } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { reason, StateStoreError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import type { KeySource } from '../keys/source.js'
import type { StoreValue } from './confirmed-state.js'
import { OfflineError, offlineTimeout } from './errors.js'
import { canWait, type LateWrite, maxAgeOf, type OptimisticSettings } from './options.js'
import type { OptimisticResult } from './state.js'
import { UserWrite } from './user-write.js'
import { conflictModeOf } from './write-sender.js'
import type { StoredWrite } from './write-storage.js'
import { restoreSeen, WriteStorageQueue } from './write-storage-queue.js'

export interface SendConditions<T> {
  readonly isConnected: boolean
  readonly isBusy: boolean
  /** Whether the key has been read on this connection. */
  readonly isLive: boolean
  readonly current: T | undefined
  readonly known: StoreValue | undefined
}

export interface QueuedWriteListener<T> {
  /** Called when a condition has changed and the write may be sent. */
  retry(): void
  refused(write: UserWrite<T>, error: StateStoreError): void
  /** Called when another client has written the key later than the user. */
  superseded(write: UserWrite<T>, by: StoreValue): void
}

/** One use of a view, from its start until it has neither subscribers nor writes. */
interface Usage {
  /** Whether a write of this use is newer than any write that its load finds. */
  hasNewWrite: boolean
}

/** Holds the newest unsent write, and decides whether and when it is sent. */
export class QueuedWrite<T> {
  readonly #source: KeySource<T>
  readonly #settings: OptimisticSettings<T>
  readonly #listener: QueuedWriteListener<T>
  readonly #writeStorageQueue: WriteStorageQueue
  #userWrite: UserWrite<T> | undefined
  /** The previous write, if the storage still has it. */
  #replaced: UserWrite<T> | undefined
  readonly #expiry: Timer
  #approval: Subscription | undefined
  #isClaiming = false
  #usage: Usage | undefined

  constructor(source: KeySource<T>, settings: OptimisticSettings<T>, listener: QueuedWriteListener<T>) {
    this.#source = source
    this.#settings = settings
    this.#expiry = new Timer(source.host.registry.clock)
    this.#listener = listener
    this.#writeStorageQueue = new WriteStorageQueue(settings.storage, source)
  }

  get write(): UserWrite<T> | undefined {
    return this.#userWrite
  }

  /**
   * Opens the queue and loads the write that an earlier process or page stored. Must precede everything that may save a
   * new write, so that the storage is read first.
   */
  open(): void {
    const usage: Usage = { hasNewWrite: this.#userWrite !== undefined }
    this.#usage = usage
    this.#writeStorageQueue.load({
      done: stored => stored && this.#onLoaded(stored, usage),
      failed: error => this.#source.host.report(error),
    })
  }

  close(): void {
    this.#usage = undefined
  }

  enqueue(write: UserWrite<T>): void {
    if (this.#usage) this.#usage.hasNewWrite = true
    const older = this.#userWrite
    this.#clear()
    // An unsaved write does not replace a saved one: a handler may write again before the saved one is removed.
    if (older?.isStored) this.#replaced = older
    this.#userWrite = write
    this.#startTimer(write)
    if (older) this.#settle(older, 'superseded')
  }

  /** Requeues a write that was sent, unless a newer one waits. */
  requeue(write: UserWrite<T>): void {
    const newer = this.#userWrite
    if (newer === undefined) this.enqueue(write)
    else {
      // The older write was not applied, so the newer one must include it.
      newer.base = write.base
      this.#settle(write, 'superseded')
    }
  }

  withdraw(write: UserWrite<T>): void {
    write.observer = undefined
    write.isWithdrawn = true
    if (this.#userWrite === write) this.#remove()
  }

  /** Fails the queued write, which the storage keeps. */
  end(error: StateStoreError): void {
    const write = this.#userWrite
    if (write) this.#clear()
    write?.fail(error)
  }

  cancelApproval(): void {
    this.#approval?.unsubscribe()
    if (this.#userWrite) this.#userWrite.isApproved = false
  }

  /** Returns and removes the write if it can be sent now. Must be called after each {@link enqueue}. */
  next(conditions: SendConditions<T>): UserWrite<T> | undefined {
    const next = this.#choose(conditions)
    const replaced = this.#replaced
    this.#replaced = undefined
    // The storage already has the new write, so the storage is never empty in between.
    if (replaced && !this.#userWrite?.isStored) this.#writeStorageQueue.discard(replaced)
    return next
  }

  #choose(conditions: SendConditions<T>): UserWrite<T> | undefined {
    const write = this.#userWrite
    if (write === undefined) return undefined
    if (write.age(this.#clock) >= maxAgeOf(this.#settings, write)) this.#refuse(write, this.#timeoutError(write))
    else if (!conditions.isConnected) this.#onDisconnected(write)
    else if (conditions.isBusy || this.#isClaiming) return undefined
    else if (this.#needsApproval(write)) this.#requestApproval(write, conditions)
    else if (this.#needsCurrent(write) && !conditions.isLive) return undefined
    else if (conditions.known && this.#isSuperseded(write, conditions.known)) this.#supersede(write, conditions.known)
    else if (write.isStored) this.#claim(write)
    else return this.#remove()
    return undefined
  }

  #onLoaded(stored: StoredWrite, usage: Usage): void {
    // A load that an earlier use left behind may already have restored the write.
    if (stored.id === this.#userWrite?.id) return
    if (usage.hasNewWrite) this.#writeStorageQueue.discard({ id: stored.id, isStored: true })
    else if (this.#usage === usage) this.#restore(stored)
  }

  #restore(stored: StoredWrite): void {
    const { host } = this.#source
    try {
      const parts = { id: stored.id, encoded: stored.value, seen: restoreSeen(stored), base: stored.base }
      this.enqueue(new UserWrite(this.#source.value(stored.value, undefined), parts, this.#clock, stored))
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      host.report(error)
      this.#writeStorageQueue.discard({ id: stored.id, isStored: true })
    }
    this.#listener.retry()
  }

  get #canWait(): boolean {
    return canWait(this.#settings.offline)
  }

  get #clock(): Clock {
    return this.#source.host.registry.clock
  }

  #timeoutError(write: UserWrite<T>): StateStoreError {
    const limit = maxAgeOf(this.#settings, write)
    const { host, key } = this.#source
    return write.isLate && this.#canWait ? offlineTimeout(limit, key.text) : host.store.unsentError(key, limit)
  }

  #onDisconnected(write: UserWrite<T>): void {
    const { offline } = this.#settings
    if (offline === 'drop') {
      this.#refuse(write, new OfflineError('there is no connection', this.#name))
      return
    }
    write.isLate = true
    if (!this.#canWait) return
    this.#startTimer(write)
    this.#writeStorageQueue.save(write, typeof this.#settings.conflict === 'function')
  }

  #needsCurrent(write: UserWrite<T>): boolean {
    return conflictModeOf(this.#settings, write) !== 'last' || (write.isLate && this.#settings.isSuperseded)
  }

  /** Returns whether another client has written the key later than the user. The clock of the store counts. */
  #isSuperseded(write: UserWrite<T>, { version }: StoreValue): boolean {
    if (!write.isLate || !this.#settings.isSuperseded || version === undefined) return false
    // The key may have the version of the previous write of this view, which was sent late.
    if (String(version) === String(write.seen?.version)) return false
    return version.wallClock > this.#source.host.storeTime() - write.age(this.#clock)
  }

  #supersede(write: UserWrite<T>, by: StoreValue): void {
    this.#remove()
    this.#listener.superseded(write, by)
    this.#settle(write, 'superseded')
    this.#listener.retry()
  }

  #needsApproval = ({ isLate, isApproved }: UserWrite<T>): boolean =>
    this.#settings.offline === 'ask' && isLate && !isApproved

  #requestApproval(write: UserWrite<T>, { isLive, current }: SendConditions<T>): void {
    if (!isLive || this.#approval?.closed === false) return
    const { value, writtenAt: since } = write
    const age = write.age(this.#clock)
    this.#approval = approvalOf(this.#settings, { key: this.#name, value, since, age, current }).subscribe({
      next: isApproved => {
        write.isApproved = isApproved
        if (!isApproved) this.#settle(this.#remove(), 'withdrawn')
        this.#listener.retry()
      },
      error: cause => {
        const why = `\`ask\` failed: ${reason(cause)}`
        this.#refuse(write, new OfflineError(why, this.#name, { cause }))
        this.#listener.retry()
      },
    })
  }

  #claim(write: UserWrite<T>): void {
    this.#isClaiming = true
    const failed = (error: StateStoreError): void => {
      this.#isClaiming = false
      // Another process could find the write in the storage and send it again.
      if (this.#userWrite === write) this.#refuse(write, error)
      this.#listener.retry()
    }
    const done = (wasStored: boolean): void => {
      this.#isClaiming = false
      write.isStored = false
      if (!wasStored && this.#userWrite === write) this.#settle(this.#remove(), 'superseded')
      this.#listener.retry()
    }
    this.#writeStorageQueue.claim(write, { done, failed })
  }

  #startTimer(write: UserWrite<T>): void {
    this.#expiry.set(maxAgeOf(this.#settings, write) - write.age(this.#clock), () => this.#listener.retry())
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
      this.#writeStorageQueue.discard(write)
    }
    return write
  }

  #clear(): void {
    this.#userWrite = undefined
    this.#expiry.cancel()
    this.cancelApproval()
  }

  get #name(): string {
    return this.#source.key.text
  }
}

/** Calls `ask` for a late write; `ask` without a result means no. */
const approvalOf = <T>({ ask }: OptimisticSettings<T>, write: LateWrite<T>): Observable<boolean> =>
  defer(() => ask(write)).pipe(
    take(1),
    map(isApproved => isApproved === true),
    defaultIfEmpty(false),
  )
