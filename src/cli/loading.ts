import { EMPTY, from, lastValueFrom, mergeMap, type Observable, tap } from 'rxjs'
import { bytes, type SetOptions, type SetResult, type StateStore } from '../client/index.js'
import { DumpReader, type DumpRecord } from '../node/dump/codec.js'

/** Keys and bytes that are gathered before they are set. */
const BATCH = 256
const BATCH_BYTES = 1024 * 1024
const CONCURRENCY = 64

/** Sets the keys of a dump, batch by batch. */
export class Loading {
  /** Keys that are set, for certain. */
  loaded = 0
  /** Lines whose time was over. */
  expired = 0
  readonly #now: () => number
  #batch: DumpRecord[] = []
  #bytes = 0

  /** @param now - wall time, ms since the Unix epoch */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Settles when all keys are set; rejects with the number of a line that is wrong, of whose batch no key is set. */
  async all(lines: AsyncIterable<string>, store: StateStore): Promise<void> {
    const reader = new DumpReader()
    for await (const line of lines) {
      const record = reader.read(line)
      if (record === undefined) continue
      this.#batch.push(record)
      this.#bytes += record.value.length
      if (this.#batch.length >= BATCH || this.#bytes >= BATCH_BYTES) await this.#flush(store)
    }
    await this.#flush(store)
    reader.end()
  }

  async #flush(store: StateStore): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#bytes = 0
    const written$ = from(batch).pipe(mergeMap(record => this.#set(record, store), CONCURRENCY))
    await lastValueFrom(written$, { defaultValue: undefined })
  }

  #set(record: DumpRecord, store: StateStore): Observable<SetResult> {
    const { key, value, expiresAt, fencingToken } = record
    const expiresIn = expiresAt === undefined ? undefined : expiresAt - this.#now()
    if (expiresIn !== undefined && expiresIn <= 0) {
      this.expired++
      return EMPTY
    }
    const options: SetOptions = { ...(expiresIn !== undefined && { expiresIn }), ...(fencingToken && { fencingToken }) }
    return store.set(key, value, bytes, options).pipe(tap(() => this.loaded++))
  }
}
