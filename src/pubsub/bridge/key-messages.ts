import type { Freshness } from '../../client/watch/freshness.js'
import type { Entry } from '../../client/watch/watch-state.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { GoneReason } from '../../core/protocol/properties.js'
import { ArgumentError, type ErrorCode, type StateStoreError } from '../../core/util/errors.js'
import { JsonText } from '../wire/json.js'

/** An error as JSON. */
export interface ErrorInfo {
  /** Stable code for programs; see the codes of `StateStoreError`. */
  readonly code: ErrorCode
  /** Text for people; may change. */
  readonly message: string
}

/**
 * State of a key as JSON: an `Entry` of the store. Undefined members are omitted.
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

/** Whether the last entry is current: it is not while the bridge has lost the store. */
export interface KeyFreshness {
  readonly type: 'freshness'
  readonly key: string
  readonly state: Freshness['state']
  /** When the store was lost, ms since the Unix epoch; only with `stale`. */
  readonly since?: number
}

/** The watch of the key ended: the store rejected it or is closed. The next join retries. */
export interface KeyFailure {
  readonly type: 'error'
  readonly key: string
  readonly error: ErrorInfo
}

/** Message to the group of a key. `T` is the type of its values. */
export type KeyMessage<T = unknown> = KeyEntry<T> | KeyFreshness | KeyFailure

/** Server message to a client whose write had an `id`, sent just before the write's acknowledgement. */
export interface KeyWritten {
  readonly type: 'written'
  /** Id of the write. */
  readonly id: string | number
  readonly key: string
  /** Missing if the deleted key did not exist. */
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

/** Serializes a message; a value given as {@link JsonText} is kept character by character. */
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

// JSON.stringify would write bytes as an object of numbers.
const isBytes = (value: unknown): boolean => value instanceof ArrayBuffer || ArrayBuffer.isView(value)
