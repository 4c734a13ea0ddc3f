import type { ObservableInput } from 'rxjs'

/** A stored write that waits for the connection. */
export interface StoredWrite {
  /** Unique among a key's writes. */
  readonly id: string
  readonly value: Uint8Array
  /** Wall time of the write, ms since the Unix epoch. */
  readonly at: number
  /** Version of the key that the user saw; `null` for a missing key, undefined if nothing was known. */
  readonly seen?: string | null
  /** For a merge: the value that the user changed; undefined for none. */
  readonly base?: Uint8Array | undefined
}

/**
 * Stores the newest waiting write of each key beyond the life of the process or page. Results may be promises or
 * observables of one value. Implementations: {@link indexedDbStorage} for browsers, `fileStorage` of
 * `rx-statestore/optimistic/file` for Node.
 */
export interface WriteStorage {
  /** Returns the stored write of a key, if any. */
  load(key: string): ObservableInput<StoredWrite | undefined>
  /** Saves a write, which replaces any other write of the key. */
  save(key: string, write: StoredWrite): ObservableInput<unknown>
  /**
   * Removes a write and returns whether it existed. Exactly one of several concurrent callers, even in different
   * processes, gets `true`.
   */
  remove(key: string, id: string): ObservableInput<boolean>
}

const OBJECT_STORE = 'writes'

/**
 * Stores waiting writes in IndexedDB. The writes outlive the page, and exactly one of several pages of an origin sends
 * them. Use a separate name for each state store of the origin.
 *
 * @param name - of the database; default `rx-statestore`
 * @example
 * ```ts
 * optimistic(key, { offline: 'cas', storage: indexedDbStorage() })
 * ```
 */
export function indexedDbStorage(name = 'rx-statestore'): WriteStorage {
  return {
    load: key => runTransaction<StoredWrite | undefined>(name, 'readonly', writes => toPromise(writes.get(key))),
    save: (key, write) => runTransaction(name, 'readwrite', writes => toPromise(writes.put(write, key))),
    remove: (key, id) =>
      runTransaction(name, 'readwrite', async writes => {
        const kept: StoredWrite | undefined = await toPromise(writes.get(key))
        if (kept?.id !== id) return false
        await toPromise(writes.delete(key))
        return true
      }),
  }
}

/** Runs a transaction. Settles once its result is on disk, so removed writes do not reappear. */
async function runTransaction<R>(
  name: string,
  mode: IDBTransactionMode,
  run: (writes: IDBObjectStore) => Promise<R>,
): Promise<R> {
  const opening = indexedDB.open(name, 1)
  opening.onupgradeneeded = () => void opening.result.createObjectStore(OBJECT_STORE)
  const database = await toPromise(opening)
  try {
    const transaction = database.transaction(OBJECT_STORE, mode, { durability: 'strict' })
    const completed = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error ?? new Error('The transaction was aborted'))
    })
    const [result] = await Promise.all([run(transaction.objectStore(OBJECT_STORE)), completed])
    return result
  } finally {
    database.close()
  }
}

function toPromise<R>(request: IDBRequest<R>): Promise<R> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('The request failed'))
  })
}
