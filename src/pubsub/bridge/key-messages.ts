import type { Freshness } from '../../client/watch/freshness.js'
import type { Entry } from '../../client/watch/watch-state.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { GoneReason } from '../../core/protocol/properties.js'
import { isArrayBuffer } from '../../core/util/built-in-types.js'
import { ArgumentError, type ErrorCode, type StateStoreError } from '../../core/util/errors.js'
import { JsonText } from '../wire/json.js'

/** An error as JSON. */
export interface ErrorInfo {
  /** The stable code for programs. See the codes of `StateStoreError`. */
  readonly code: ErrorCode
  /** The text for human readers, which may change. */
  readonly message: string
}

/**
 * A key's state as JSON, which is an `Entry` of the store. Undefined members are omitted.
 *
 * @example
 * ```json
 * { "type": "entry", "key": "line-1/speed", "op": "set", "value": 12,
 *   "version": "1696374425000:1:StateStore", "source": "notification" }
 * ```
 */
export type KeyEntry<T = unknown> = {
  readonly type: 'entry'
  readonly key: string
  /** The wire form of a version, `{ms since the Unix epoch}:{counter}:{node}`. */
  readonly version?: string
  readonly source: 'snapshot' | 'notification' | 'resync'
} & (
  | { readonly op: 'set'; readonly value: T }
  | { readonly op: 'delete' | 'absent'; readonly reason: GoneReason }
  | { readonly op: 'invalid'; readonly error: ErrorInfo }
)

/** A message on whether the last entry is current. It is not current while the bridge has lost the store. */
export interface KeyFreshness {
  readonly type: 'freshness'
  readonly key: string
  readonly state: Freshness['state']
  /** The time when the store was lost, in ms since the Unix epoch. Only set with `stale`. */
  readonly since?: number
}

/**
 * A message that the watch of the key ended, because the store rejected the watch or is closed. The next join retries.
 */
export interface KeyFailure {
  readonly type: 'error'
  readonly key: string
  readonly error: ErrorInfo
}

/** A message to a key's group. `T` is the type of the key's values. */
export type KeyMessage<T = unknown> = KeyEntry<T> | KeyFreshness | KeyFailure

/** A server message to a client whose write had an `id`. It is sent directly before the write's acknowledgement. */
export interface KeyWritten {
  readonly type: 'written'
  /** The write's id. */
  readonly id: string | number
  readonly key: string
  /** The write's version. It is missing if the deleted key did not exist. */
  readonly version?: string
}

export const errorInfoOf = ({ code, message }: StateStoreError): ErrorInfo => ({ code, message })

export function entryMessage(entry: Entry<unknown>): KeyEntry {
  const { op, key, source } = entry
  const origin = { ...versionMember(entry.version), source }
  if (op === 'invalid') return invalidEntry(key, origin, entry.error)
  if (op !== 'set') return { type: 'entry', key, op, reason: entry.reason, ...origin }
  return isBytes(entry.value)
    ? invalidEntry(
        key,
        origin,
        new ArgumentError('The value is bytes, which JSON cannot express: use the codec `base64`'),
      )
    : { type: 'entry', key, op, value: entry.value, ...origin }
}

export const withoutValue = ({ key, version, source }: KeyEntry, error: StateStoreError): KeyEntry =>
  invalidEntry(key, { ...(version && { version }), source }, error)

export const freshnessMessage = (key: string, freshness: Freshness): KeyFreshness => ({
  type: 'freshness',
  key,
  ...freshness,
})

/** Serializes a message. A value given as {@link JsonText} is kept character by character. */
export function serialize(message: KeyMessage): JsonText | KeyMessage {
  if (message.type !== 'entry' || message.op !== 'set' || !(message.value instanceof JsonText)) return message
  const { value, ...others } = message
  return new JsonText(`${JSON.stringify(others).slice(0, -1)},"value":${value.text}}`)
}

export const versionMember = (version: Hlc | undefined): { readonly version?: string } =>
  version ? { version: String(version) } : {}

type Origin = Pick<KeyEntry, 'version' | 'source'>

const invalidEntry = (key: string, origin: Origin, error: StateStoreError): KeyEntry => ({
  type: 'entry',
  key,
  op: 'invalid',
  error: errorInfoOf(error),
  ...origin,
})

// `JSON.stringify` would write bytes as an object of numbers.
const isBytes = (value: unknown): boolean => isArrayBuffer(value) || ArrayBuffer.isView(value)
