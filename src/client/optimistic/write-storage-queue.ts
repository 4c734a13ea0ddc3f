import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  finalize,
  from,
  Observable,
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
import { ArgumentError, reason, StateStoreError } from '../../core/util/errors.js'
import type { KeyHost, KeySource } from '../keys/source.js'
import type { Seen, UserWrite } from './user-write.js'
import type { StoredWrite, WriteStorage } from './write-storage.js'

/** So often, and after so many ms, a storage that failed to remove is asked again: what it keeps would be sent. */
const RETRIES = 10
const PAUSE = 1_000
/** ms in which a storage has to answer. */
const LIMIT = 10_000

/** What a storage says of a request. */
interface Listener<R> {
  readonly done?: (result: R) => void
  readonly failed: (error: StateStoreError) => void
}

/** The storage of a key's writes: one request after the other, in the order they were made. */
export class WriteStorageQueue {
  readonly #storage: WriteStorage | undefined
  readonly #key: KeyName
  readonly #host: KeyHost
  /** Ids of the write that was kept last, and of the one that was to be. */
  #kept: string | undefined
  #newest: string | undefined
  readonly #requests = new Subject<Observable<unknown>>()
  readonly #queue: Subscription
  /** Requests without an answer. */
  #unanswered = 0
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

  /** What is kept. */
  load(listener: Listener<StoredWrite | undefined>): void {
    const done = (found: StoredWrite | undefined): void => {
      const stored = found && checked(found)
      this.#kept = stored?.id
      listener.done?.(stored)
    }
    this.#ask(storage => storage.load(this.#key.id), { ...listener, done })
  }

  /** Keeps a write, in the place of any other; where that fails, it lives as long as the page. @param isMerged - whether it will be */
  save<T>(write: UserWrite<T>, isMerged: boolean): void {
    if (this.#storage === undefined || write.stored) return
    write.stored = true
    this.#newest = write.id
    const { id, own: value, at, seen, base } = write
    const failed = (error: StateStoreError): void => {
      write.stored = false
      this.#host.report(error)
      if (this.#kept !== undefined) this.drop({ id: this.#kept, stored: true })
      // It may be kept yet, and would be found when it was sent long ago.
      if (isLate(error.cause)) this.drop({ id, stored: true })
    }
    const done = (): void => {
      this.#kept = id
    }
    this.#ask(
      storage => {
        // A newer one waits to be kept: a page that is about to go has no time for this one.
        if (this.#newest !== id) return []
        return storage.save(this.#key.id, { id, value, at, ...seenInWords(seen), ...(isMerged && base && { base }) })
      },
      { done, failed },
    )
  }

  /** Takes a write out, to send it: whether nobody else has. */
  take<T>(write: UserWrite<T>, listener: Listener<boolean>): void {
    // Asked when it is its turn, for it may be about to turn out that the write could not be kept.
    this.#ask(storage => (write.stored ? this.#removal(storage, write.id) : [true]), listener)
  }

  /** A write is not to be sent any more. */
  drop({ id, stored }: Pick<UserWrite<unknown>, 'id' | 'stored'>): void {
    if (stored) this.#ask(storage => this.#removal(storage, id), { failed: error => this.#host.report(error) })
  }

  #ask<R>(request: (storage: WriteStorage) => ObservableInput<R>, { done, failed }: Listener<R>): void {
    const storage = this.#storage
    if (storage === undefined) return
    const answer$ = this.#inTime(() => request(storage)).pipe(
      tap(answer => done?.(answer)),
      catchError(cause => {
        failed(new StateStoreError('damaged', `The storage of writes failed: ${reason(cause)}`, { cause }))
        return EMPTY
      }),
      finalize(() => this.#answered()),
    )
    if (this.#unanswered++ === 0) this.#host.closeHooks.add(this.#farewell)
    this.#requests.next(answer$)
  }

  #answered(): void {
    if (--this.#unanswered > 0) return
    this.#host.closeHooks.delete(this.#farewell)
    this.#idle$.next()
  }

  /** A client that is closed waits for the storage: the process may end when it is closed. */
  readonly #farewell = (): Observable<unknown> => {
    const late$ = this.#in(LIMIT).pipe(
      tap(() => {
        const why = `it was still writing ${LIMIT} ms after the client was closed`
        const what = `the newest write to key ${JSON.stringify(this.#key.text)} may not be kept`
        this.#host.report(new StateStoreError('damaged', `The storage of writes failed: ${why}; ${what}`))
        // Nor does it keep the process from ending.
        this.#queue.unsubscribe()
      }),
    )
    return this.#idle$.pipe(take(1), takeUntil(late$))
  }

  #removal(storage: WriteStorage, id: string): Observable<boolean> {
    return this.#inTime(() => storage.remove(this.#key.id, id)).pipe(
      retry({ count: RETRIES, delay: error => (isLate(error) ? throwError(() => error) : this.#in(PAUSE)) }),
    )
  }

  /** One that never answers would keep all that is written later from being sent. */
  #inTime<R>(ask: () => ObservableInput<R>): Observable<R> {
    const late$ = this.#in(LIMIT).pipe(
      tap(() => {
        throw new StateStoreError('timeout', `it did not answer within ${LIMIT} ms`)
      }),
    )
    return defer(() => from(ask())).pipe(take(1), takeUntil(late$))
  }

  #in(delay: number): Observable<number> {
    return new Observable(subscriber => this.#host.registry.clock.schedule(delay, () => subscriber.next(0)))
  }
}

const isLate = (error: unknown): boolean => error instanceof StateStoreError && error.code === 'timeout'

/** What some other program, or one before this, has left there would be sent at any time if its age were not known. */
function checked(write: StoredWrite): StoredWrite {
  const { id, value, at, seen, base } = Object(write)
  const isSeen = seen === undefined || seen === null || typeof seen === 'string'
  const isBase = base === undefined || base instanceof Uint8Array
  if (typeof id === 'string' && value instanceof Uint8Array && Number.isFinite(at) && isSeen && isBase) return write
  throw new ArgumentError('it has something else than a write, which is left there')
}

/** What a user saw, as it is kept. */
const seenInWords = (seen: Seen | undefined): Pick<StoredWrite, 'seen'> =>
  seen === undefined ? {} : { seen: seen.version && seen.bytes ? String(seen.version) : null }

/** What a user saw, of what was kept. Its value is not known any more. */
export function seenOf({ seen }: StoredWrite): Seen | undefined {
  if (seen === undefined) return undefined
  return { bytes: seen === null ? undefined : new Uint8Array(), version: seen === null ? undefined : Hlc.parse(seen) }
}
