import { openSync, writeSync } from 'node:fs'
import { subscribe } from 'rx-statestore/diagnostics'
import type { AttachedStore } from 'rx-statestore/server'
import { type JournalLine, toJournalledWrite } from '../harness/judges/journal.js'
import { nameOf } from '../harness/judges/values.js'
import { now } from './now.js'

/**
 * A file with the keys that a store recovered, its writes and its deletions. The store appends each line with a
 * synchronous system call, a write before its response. So the file is complete even if the process is killed.
 */
export class Journal {
  #file

  constructor(path: string) {
    this.#file = openSync(path, 'a')
    subscribe('rx-statestore:server:change', ({ key, type, version }) => {
      if (type === 'deleted' || type === 'expired')
        this.#append({ type, at: now(), time: Date.now(), key: Buffer.from(key).toString(), version: String(version) })
    })
  }

  recordRecovered(store: Pick<AttachedStore, 'dump'>) {
    const keys = Array.from(store.dump(), ({ key = '', value = '', version = '', expiresAt, fencingToken }) => ({
      key,
      value: nameOf(value),
      version,
      expiresAt,
      fencingToken,
    }))
    this.#append({ type: 'recovered', at: now(), time: Date.now(), keys })
  }

  recordWrites(store: Pick<AttachedStore, 'requests$' | 'peek'>) {
    store.requests$.subscribe(request => {
      const line = toJournalledWrite(request, now(), key => {
        const { version = '', expiresAt, fencingToken } = store.peek(key) ?? {}
        return { version, expiresAt, fencingToken }
      })
      if (line) this.#append(line)
    })
  }

  #append(line: JournalLine) {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}
