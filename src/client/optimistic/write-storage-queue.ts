import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  finalize,
  from,
  type Observable,
  type ObservableInput,
  retry,
  Subject,
  type Subscription,
  take,
  takeUntil,
  tap,
  throwError,
} from 'rxjs'
import { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { isBytes } from '../../core/util/built-in-types.js'
import { ArgumentError, reason, StateStoreError } from '../../core/util/errors.js'
import type { KeyHost } from '../keys/host.js'
import type { KeySource } from '../keys/source.js'
import { after } from '../requests/after.js'
import type { Seen, UserWrite } from './user-write.js'
import type { StoredWrite, WriteStorage } from './write-storage.js'

/**
 * Number of retries of a failed removal, and the delay between them, ms. A write that stays in the storage would be
 * sent again.
 */
const MAX_RETRIES = 10
const RETRY_DELAY_MS = 1_000
const TIMEOUT_MS = 10_000

interface RequestListener<R> {
  readonly done?: (result: R) => void
  readonly failed: (error: StateStoreError) => void
}

/** Executes requests to a key's storage in order. */
export class WriteStorageQueue {
  readonly #storage: WriteStorage | undefined
  readonly #key: KeyName
  readonly #host: KeyHost
  /** Ids of the saved write and of the newest one to save. */
  #savedId: string | undefined
  #newestId: string | undefined
  readonly #requests = new Subject<Observable<unknown>>()
  readonly #queue: Subscription
  #pendingCount = 0
  readonly #idle$ = new Subject<void>()

  constructor(storage: WriteStorage | undefined, { key, host }: Pick<KeySource<unknown>, 'key' | 'host'>) {
    this.#storage = storage
    this.#key = key
    this.#host = host
    this.#queue = this.#requests.pipe(concatMap(request => request)).subscribe()
  }

  get exists(): boolean {
    return this.#storage !== undefined
  }

  load(listener: RequestListener<StoredWrite | undefined>): void {
    const done = (found: StoredWrite | undefined): void => {
      const stored = found && validate(found)
      this.#savedId = stored?.id
      listener.done?.(stored)
    }
    this.#enqueue(storage => storage.load(this.#key.id), { ...listener, done })
  }

  /**
   * Saves a write, replacing any other. If saving fails, the write only lives as long as the page. @param isMerged -
   * whether the write will be merged
   */
  save<T>(write: UserWrite<T>, isMerged: boolean): void {
    if (this.#storage === undefined || write.isStored) return
    write.isStored = true
    this.#newestId = write.id
    const { id, encoded: value, writtenAt: at, seen, base } = write
    const failed = (error: StateStoreError): void => {
      write.isStored = false
      this.#host.report(error)
      if (this.#savedId !== undefined) this.discard({ id: this.#savedId, isStored: true })
      // The save may still complete, so the write could be found after it was sent.
      if (isTimeout(error.cause)) this.discard({ id, isStored: true })
    }
    const done = (): void => {
      this.#savedId = id
    }
    this.#enqueue(
      storage => {
        // A newer write waits to be saved, and a closing page has no time for this one.
        if (this.#newestId !== id) return []
        return storage.save(this.#key.id, { id, value, at, ...encodeSeen(seen), ...(isMerged && base && { base }) })
      },
      { done, failed },
    )
  }

  /** Removes a write in order to send it. Emits `false` if another process has removed the write. */
  claim<T>(write: UserWrite<T>, listener: RequestListener<boolean>): void {
    // `isStored` is read when the queue reaches this request, because a queued save may still fail.
    this.#enqueue(storage => (write.isStored ? this.#removeWithRetry(storage, write.id) : [true]), listener)
  }

  discard({ id, isStored }: Pick<UserWrite<unknown>, 'id' | 'isStored'>): void {
    if (isStored)
      this.#enqueue(storage => this.#removeWithRetry(storage, id), { failed: error => this.#host.report(error) })
  }

  #enqueue<R>(request: (storage: WriteStorage) => ObservableInput<R>, { done, failed }: RequestListener<R>): void {
    const storage = this.#storage
    if (storage === undefined || this.#queue.closed) return
    const result$ = this.#withTimeout(() => request(storage)).pipe(
      tap(result => done?.(result)),
      catchError(cause => {
        failed(new StateStoreError('damaged', `The write storage failed: ${reason(cause)}`, { cause }))
        return EMPTY
      }),
      finalize(() => this.#onSettled()),
    )
    if (this.#pendingCount++ === 0) this.#host.closeHooks.add(this.#closeHook)
    this.#requests.next(result$)
  }

  #onSettled(): void {
    if (--this.#pendingCount > 0) return
    this.#host.closeHooks.delete(this.#closeHook)
    this.#idle$.next()
  }

  /** Delays `close` until the storage is idle, because the process may end afterwards. */
  readonly #closeHook = (): Observable<unknown> => {
    const timeout$ = after(TIMEOUT_MS, this.#host.registry.clock).pipe(
      tap(() => {
        const why = `it was still writing ${TIMEOUT_MS} ms after the client was closed`
        const what = `the newest write to key ${JSON.stringify(this.#key.text)} may not be saved`
        this.#host.report(new StateStoreError('damaged', `The write storage failed: ${why}; ${what}`))
        // Cancels all pending requests, which would keep the process alive.
        this.#queue.unsubscribe()
        this.#host.closeHooks.delete(this.#closeHook)
      }),
    )
    return this.#idle$.pipe(take(1), takeUntil(timeout$))
  }

  #removeWithRetry(storage: WriteStorage, id: string): Observable<boolean> {
    return this.#withTimeout(() => storage.remove(this.#key.id, id)).pipe(
      retry({
        count: MAX_RETRIES,
        delay: error => (isTimeout(error) ? throwError(() => error) : after(RETRY_DELAY_MS, this.#host.registry.clock)),
      }),
    )
  }

  /** Limits the time of a request, because one that never completes would block all later writes. */
  #withTimeout<R>(ask: () => ObservableInput<R>): Observable<R> {
    const timeout$ = after(TIMEOUT_MS, this.#host.registry.clock).pipe(
      tap(() => {
        throw new StateStoreError('timeout', `it did not respond within ${TIMEOUT_MS} ms`)
      }),
    )
    return defer(() => from(ask())).pipe(take(1), takeUntil(timeout$))
  }
}

const isTimeout = (error: unknown): boolean => error instanceof StateStoreError && error.code === 'timeout'

/**
 * Validates a stored write. Records of other programs or earlier versions are rejected, because a write without a valid
 * time could be sent at any age.
 */
function validate(write: StoredWrite): StoredWrite {
  const { id, value, at, seen, base } = Object(write)
  const isSeenValid = seen === undefined || seen === null || typeof seen === 'string'
  const isBaseValid = base === undefined || isBytes(base)
  if (typeof id === 'string' && isBytes(value) && Number.isFinite(at) && isSeenValid && isBaseValid) return write
  throw new ArgumentError('it holds a record that is not a write; it was left unchanged')
}

const encodeSeen = (seen: Seen | undefined): Pick<StoredWrite, 'seen'> =>
  seen === undefined ? {} : { seen: seen.version && seen.bytes ? String(seen.version) : null }

/** Returns the version that the user saw. The value is unknown, because only its version is stored. */
export function restoreSeen({ seen }: StoredWrite): Seen | undefined {
  if (seen === undefined) return undefined
  return { bytes: seen === null ? undefined : new Uint8Array(), version: seen === null ? undefined : Hlc.parse(seen) }
}
