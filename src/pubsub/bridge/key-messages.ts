import type { Freshness } from '../../client/watch/freshness.js'
import type { Entry } from '../../client/watch/watch-state.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { GoneReason } from '../../core/protocol/properties.js'
import { ArgumentError, type ErrorCode, type StateStoreError } from '../../core/util/errors.js'
import { JsonText } from '../wire/json.js'

/** An error as JSON. */
export interface ErrorInfo {
  /** To branch on; see the codes of `StateStoreError`. */
  readonly code: ErrorCode
  /** For people. */
  readonly message: string
}

/**
 * What is known of a key at a time, as JSON: an `Entry` of the store. Missing members are not there at all.
 *
 * @example
 * ```json
 * { "type": "entry", "key": "line-1/speed", "op": "set", "value": 12, "version": "1696374425000:1:StateStore", "source": "notification" }
 * ```
 */
export type KeyEntry<T = unknown> = {
  readonly type: 'entry'
  readonly key: string
  /** Wire form of a version, `{ms since the Unix epoch}:{counter}:{node}`. */
  readonly version?: string
  readonly source: 'snapshot' | 'notification' | 'resync'
} & (
  | { readonly op: 'set'; readonly value: T }
  | { readonly op: 'delete' | 'absent'; readonly reason: GoneReason }
  | { readonly op: 'invalid'; readonly error: ErrorInfo }
)

/** Whether the last entry can be relied on: not while the bridge has lost the store. */
export interface KeyFreshness {
  readonly type: 'freshness'
  readonly key: string
  readonly state: Freshness['state']
  /** When the store was lost, ms since the Unix epoch; only with `stale`. */
  readonly since?: number
}

/** The key is not watched any more: the store refuses it, or is closed. The next join makes the bridge try again. */
export interface KeyFailure {
  readonly type: 'error'
  readonly key: string
  readonly error: ErrorInfo
}

/** What the group of a key is sent. `T` is the type of its values. */
export type KeyMessage<T = unknown> = KeyEntry<T> | KeyFreshness | KeyFailure

/** What a client is sent, as a message of the server, after a write with an `id`, just before its acknowledgement. */
export interface KeyWritten {
  readonly type: 'written'
  /** That of the write. */
  readonly id: string | number
  readonly key: string
  /** Missing when a key was deleted that was not there. */
  readonly version?: string
}

/** An error for clients. */
export const errorInfoOf = ({ code, message }: StateStoreError): ErrorInfo => ({ code, message })

/** An entry for clients. */
export function entryMessage(entry: Entry<unknown>): KeyEntry {
  const { op, key, source } = entry
  const origin = { ...versionMember(entry.version), source }
  if (op === 'invalid') return invalid(key, origin, entry.error)
  if (op !== 'set') return { type: 'entry', key, op, reason: entry.reason, ...origin }
  return isBytes(entry.value)
    ? invalid(key, origin, new ArgumentError('The value is bytes, which JSON has not: use the codec `base64`'))
    : { type: 'entry', key, op, value: entry.value, ...origin }
}

/** The same entry, with the reason why its value cannot be sent in the place of the value. */
export const withoutValue = ({ key, version, source }: KeyEntry, error: StateStoreError): KeyEntry =>
  invalid(key, { ...(version && { version }), source }, error)

/** A state of freshness for clients. */
export const freshnessMessage = (key: string, freshness: Freshness): KeyFreshness => ({
  type: 'freshness',
  key,
  ...freshness,
})

/** A message as JSON, in which a value that is there as text stands character by character. */
export function written(message: KeyMessage): JsonText | KeyMessage {
  if (message.type !== 'entry' || message.op !== 'set' || !(message.value instanceof JsonText)) return message
  const { value, ...others } = message
  return new JsonText(`${JSON.stringify(others).slice(0, -1)},"value":${value.text}}`)
}

/** A version as a member of a message, if there is one. */
export const versionMember = (version: Hlc | undefined): { readonly version?: string } =>
  version ? { version: String(version) } : {}

/** Where an entry comes from. */
type Origin = Pick<KeyEntry, 'version' | 'source'>

const invalid = (key: string, origin: Origin, error: StateStoreError): KeyEntry => ({
  type: 'entry',
  key,
  op: 'invalid',
  error: errorInfoOf(error),
  ...origin,
})

// It would become an object of numbers.
const isBytes = (value: unknown): boolean => value instanceof ArrayBuffer || ArrayBuffer.isView(value)
