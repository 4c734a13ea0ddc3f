import { openSync, writeSync } from 'node:fs'
import type { AttachedStore, RequestReport } from 'rx-statestore/server'
import type { Note } from '../spec/judges/history.js'
import { now } from './now.js'
import { nameOf } from './values.js'

/** What a store found and what it answered, in a file that has it even when the store is killed right after. */
export class Journal {
  #file

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Notes the keys that a store begins with. */
  found(store: Pick<AttachedStore, 'dump'>) {
    const keys = Array.from(
      store.dump(),
      ({ key = '', value = '', expiresAt }) => [key, nameOf(value), expiresAt !== undefined] as const,
    )
    this.#note(['kept', now(), keys])
  }

  /** Notes every write that a store answers, before the answer leaves. */
  follow(store: Pick<AttachedStore, 'requests$'>) {
    store.requests$.subscribe(request => {
      const record = recordOf(request, now())
      if (record !== undefined) this.#note(record)
    })
  }

  #note(record: Note) {
    writeSync(this.#file, `${JSON.stringify(record)}\n`)
  }
}

/**
 * What a journal says of a request, if it is a write.
 *
 * @param at - monotonic ms
 */
export function recordOf(
  { clientId, payload, outcome, repeated }: RequestReport,
  at: number,
): Extract<Note, readonly ['answer' | 'again', ...unknown[]]> | undefined {
  const [verb, key = '', value, ...rest] = wordsOf(payload)
  if (verb !== 'SET' && verb !== 'DEL' && verb !== 'VDEL') return undefined
  const condition = rest.find(word => word === 'NX' || word === 'NEX') ?? ''
  const name = value === undefined ? '' : nameOf(value)
  return [repeated ? 'again' : 'answer', at, clientId, verb, key, name, condition, rest.includes('PX'), outcome]
}

/** The words of a command, in RESP3 with keys and values that have no line breaks: every other line is one. */
export const wordsOf = (payload: Uint8Array) =>
  Buffer.from(payload)
    .toString()
    .split('\r\n')
    .filter((_, line) => line > 0 && line % 2 === 0)
