import { map, type OperatorFunction } from 'rxjs'
import type { StateStore } from '../../src/client/connect/client.js'
import { text } from '../../src/client/keys/codec.js'
import type { DeleteResult, SetResult } from '../../src/client/keys/key.js'
import type { ErrorMode, Failure, OperatorOptions } from '../../src/client/keys/operators/operate.js'
import { deleteIf, deleteKey, set } from '../../src/client/keys/operators/operators.js'

type Outcome = SetResult | DeleteResult | Failure

/** The two forms of an operator: with a key, or with a store and a function that returns the key. */
export interface Form {
  readonly name: string
  readonly verb: string
  readonly of: (store: StateStore, options: OperatorOptions<ErrorMode>) => OperatorFunction<string, Outcome>
}

/** Every operator with the key `k`, so that all items belong to one key. */
export const KEY_FORMS: readonly Form[] = [
  { name: 'set(key)', verb: 'SET', of: (store, options) => set(store.key('k', text), options) },
  { name: 'deleteKey(key)', verb: 'DEL', of: (store, options) => deleteKey(store.key('k', text), options) },
  { name: 'deleteIf(key)', verb: 'VDEL', of: (store, options) => deleteIf(store.key('k', text), options) },
]

/** Returns the key of an item, which is its first letter. An item `!` has no key. */
export const keyOf = (item: string): string => {
  if (item === '!') throw new Error('no key for !')
  return `key/${item.slice(0, 1)}`
}

/** Every operator with a separate key per item. */
export const STORE_FORMS: readonly Form[] = [
  { name: 'set(store)', verb: 'SET', of: (store, options) => set(store, keyOf, text, options) },
  { name: 'deleteKey(store)', verb: 'DEL', of: (store, options) => deleteKey(store, keyOf, options) },
  { name: 'deleteIf(store)', verb: 'VDEL', of: (store, options) => deleteIf(store, keyOf, text, options) },
]

/**
 * Describes a result by the node id of its version, which is the word of the scripted response, and a failure by key
 * and code.
 */
export const asWords = map((outcome: Outcome): string => {
  if ('error' in outcome) return `${outcome.key}: ${outcome.error.code}`
  return outcome.version?.nodeId ?? 'no version'
})
