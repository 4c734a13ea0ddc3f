import type { StoredWrite, WriteStorage } from './storage.js'

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
