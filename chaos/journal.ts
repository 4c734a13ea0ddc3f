import { openSync, writeSync } from 'node:fs'
import type { AttachedStore, RequestReport } from 'rx-statestore/server'
import type { JournalLine } from '../spec/judges/store-history.js'
import { now } from './now.js'
import { nameOf } from './values.js'

/**
 * A file with a store's recovered keys and its responses. The file is complete even if the store is killed directly
 * after a response.
 */
export class Journal {
  #file

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Records the keys with which a store starts. */
  found(store: Pick<AttachedStore, 'dump'>) {
    const keys = Array.from(
      store.dump(),
      ({ key = '', value = '', expiresAt }) => [key, nameOf(value), expiresAt !== undefined] as const,
    )
    this.#note(['kept', now(), keys])
  }

  /** Records every write before its response is sent. */
  follow(store: Pick<AttachedStore, 'requests$'>) {
    store.requests$.subscribe(request => {
      const record = recordOf(request, now())
      if (record !== undefined) this.#note(record)
    })
  }

  #note(record: JournalLine) {
    writeSync(this.#file, `${JSON.stringify(record)}\n`)
  }
}

/**
 * Converts a request to a journal line if the request is a write.
 *
 * @param at - time of the response in monotonic ms
 */
export function recordOf(
  { clientId, payload, outcome, repeated }: Omit<RequestReport, 'duration'>,
  at: number,
): Extract<JournalLine, readonly ['answer' | 'again', ...unknown[]]> | undefined {
  const [verb, key = '', value, ...rest] = wordsOf(payload)
  if (verb !== 'SET' && verb !== 'DEL' && verb !== 'VDEL') return undefined
  const condition = rest.find(word => word === 'NX' || word === 'NEX') ?? ''
  const name = value === undefined ? '' : nameOf(value)
  return [repeated ? 'again' : 'answer', at, clientId, verb, key, name, condition, rest.includes('PX'), outcome]
}

/** Returns the words of a RESP3 command, whose keys and values contain no line breaks. Every other line is a word. */
export const wordsOf = (payload: Uint8Array) =>
  Buffer.from(payload)
    .toString()
    .split('\r\n')
    .filter((_, line) => line > 0 && line % 2 === 0)
