import { toBinaryString, utf8 } from '../../core/util/bytes.js'
import type { Engine } from '../engine/engine.js'
import type { StoredKey } from './running-store.js'

/** What is told of a key to those who operate the store; `undefined` when there is none. */
export function storedKey<C>(engine: Engine<C>, key: string | Uint8Array): StoredKey | undefined {
  const bytes = typeof key === 'string' ? utf8(key) : key
  const record = engine.peek(bytes)
  if (record === undefined) return undefined
  return {
    value: new Uint8Array(record.value),
    version: String(record.version),
    expiresAt: record.expiresAt,
    fencingToken: record.fencingToken && String(record.fencingToken),
    watchers: engine.watchers.countFor(toBinaryString(bytes)),
  }
}
