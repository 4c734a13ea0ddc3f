import type { ObservableInput } from 'rxjs'

/** A write that waits for the connection, as it is kept. */
export interface StoredWrite {
  /** Tells it from others of its key. */
  readonly id: string
  readonly value: Uint8Array
  /** Wall time at which it was written, ms since the Unix epoch. */
  readonly at: number
  /** Version the key had for the user then; `null` for no such key, missing when nothing was known. */
  readonly seen?: string | null
  /** Of a write that is to be merged: what its value was made from; missing for nothing. */
  readonly base?: Uint8Array | undefined
}

/**
 * Where writes that wait for the connection outlive the process or the page: one for each key, the newest. Results may be
 * promises or observables of one value. {@link indexedDbStorage} is one for browsers, `fileStorage` of
 * `rx-statestore/optimistic/file` one for Node.
 */
export interface WriteStorage {
  /** The write kept for a key, if there is one. */
  load(key: string): ObservableInput<StoredWrite | undefined>
  /** Keeps a write, in the place of any other of the key. */
  save(key: string, write: StoredWrite): ObservableInput<unknown>
  /** Takes a write out; whether it was there. Of several who take the same one, in whatever process, one is told so. */
  remove(key: string, id: string): ObservableInput<boolean>
}

const STORE = 'writes'

/**
 * Keeps writes that wait for the connection in IndexedDB: they outlive the page, and of several pages of one origin one
 * sends them. Choose a name for each state store that the origin has pages for.
 *
 * @param name - of the database; default `rx-statestore`
 * @example
 * ```ts
 * optimistic(key, { offline: 'cas', storage: indexedDbStorage() })
 * ```
 */
export function indexedDbStorage(name = 'rx-statestore'): WriteStorage {
  return {
    load: key => inDatabase<StoredWrite | undefined>(name, 'readonly', writes => resultOf(writes.get(key))),
    save: (key, write) => inDatabase(name, 'readwrite', writes => resultOf(writes.put(write, key))),
    remove: (key, id) =>
      inDatabase(name, 'readwrite', async writes => {
        const kept: StoredWrite | undefined = await resultOf(writes.get(key))
        if (kept?.id !== id) return false
        await resultOf(writes.delete(key))
        return true
      }),
  }
}

/** One transaction; it is over when its result is on the disk, and what it took out does not come back. */
async function inDatabase<R>(
  name: string,
  mode: IDBTransactionMode,
  run: (writes: IDBObjectStore) => Promise<R>,
): Promise<R> {
  const opening = indexedDB.open(name, 1)
  opening.onupgradeneeded = () => void opening.result.createObjectStore(STORE)
  const database = await resultOf(opening)
  try {
    const transaction = database.transaction(STORE, mode, { durability: 'strict' })
    const completed = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error ?? new Error('The transaction was aborted'))
    })
    const [result] = await Promise.all([run(transaction.objectStore(STORE)), completed])
    return result
  } finally {
    database.close()
  }
}

function resultOf<R>(request: IDBRequest<R>): Promise<R> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('The request failed'))
  })
}
