import { openSync, writeSync } from 'node:fs'
import { now } from './now.js'
import { nameOf } from './values.js'

/** What a store found and what it answered, in a file that has it even when the store is killed right after. */
export class Journal {
  #file

  /** @param {string} path */
  constructor(path) {
    this.#file = openSync(path, 'a')
  }

  /**
   * Notes the keys that a store begins with.
   *
   * @param {Pick<import('rx-statestore/server').AttachedStore, 'dump'>} store
   */
  found(store) {
    const keys = Array.from(store.dump(), ({ key = '', value = '', expiresAt }) => [
      key,
      nameOf(value),
      expiresAt !== undefined,
    ])
    this.#note(['kept', now(), keys])
  }

  /**
   * Notes every write that a store answers, before the answer leaves.
   *
   * @param {Pick<import('rx-statestore/server').AttachedStore, 'requests$'>} store
   */
  follow(store) {
    store.requests$.subscribe(({ clientId, payload, outcome, repeated }) => {
      // RESP3 with keys and values that have no line breaks: every other line is a word.
      const [verb, key, value, ...rest] = Buffer.from(payload)
        .toString()
        .split('\r\n')
        .filter((_, line) => line > 0 && line % 2 === 0)
      if (verb !== 'SET' && verb !== 'DEL' && verb !== 'VDEL') return
      const condition = rest.find(word => word === 'NX' || word === 'NEX') ?? ''
      const name = value === undefined ? '' : nameOf(value)
      this.#note([
        repeated ? 'again' : 'answer',
        now(),
        clientId,
        verb,
        key,
        name,
        condition,
        rest.includes('PX'),
        outcome,
      ])
    })
  }

  /** @param {unknown[]} record */
  #note(record) {
    writeSync(this.#file, `${JSON.stringify(record)}\n`)
  }
}
