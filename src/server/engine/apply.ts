import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyCommand, SetCommand } from '../../core/protocol/commands.js'
import type { Notification } from '../../core/protocol/notifications.js'
import type { Reply } from '../../core/protocol/replies.js'
import type { KnownServiceErrorCode } from '../../core/protocol/service-errors.js'
import { sameBytes } from '../../core/util/bytes.js'
import { MAX_TIME_MS } from '../../core/util/clock.js'

export interface StoredRecord {
  readonly value: Uint8Array
  readonly version: Hlc
  /** The fencing token of the key. Writes must carry this token or a newer one. */
  readonly fencingToken: Hlc | undefined
  /** The expiry, in ms since the Unix epoch on the store's wall clock. */
  readonly expiresAt: number | undefined
  /** Whether a restart of the store deletes the key, even with keys on disk. */
  readonly volatile?: true | undefined
  /** The last writer, whose quota the key counts toward, or `undefined` for none. */
  readonly owner?: string | undefined
}

export interface ApplyResult {
  readonly record: StoredRecord | undefined
  readonly reply: Reply
  /** The version for the `__ts` property of the response. */
  readonly version: Hlc | undefined
  readonly change: Notification | undefined
}

/** A command's inputs in addition to the record. */
export interface ApplyContext {
  /** The store's wall time, in ms since the Unix epoch. */
  readonly now: number
  /** The version that a change gets. */
  readonly next: Hlc
  readonly fencingToken: Hlc | undefined
  readonly volatile?: true | undefined
  readonly owner?: string | undefined
}

/** A command on a single record. KEYNOTIFY concerns registrations, and SCAN concerns all keys. */
export type RecordCommand = Exclude<KeyCommand, { verb: 'KEYNOTIFY' }>

/**
 * Applies the store's rules for one key, as a pure function from (record, command, clocks) to (record, reply, change).
 * Sources: state store protocol, "Supported commands", "Response format", "Fencing token algorithm".
 */
export function apply(record: StoredRecord | undefined, command: RecordCommand, context: ApplyContext): ApplyResult {
  if (command.verb === 'GET')
    return unchanged(record, record ? { type: 'value', value: record.value } : { type: 'absent' })
  const errorCode = checkFencingToken(record?.fencingToken, context.fencingToken)
  if (errorCode !== undefined)
    return { record, reply: { type: 'error', code: errorCode }, version: undefined, change: undefined }
  if (command.verb === 'SET') return applySet(record, command, context)
  if (record === undefined) return unchanged(record, { type: 'count', count: 0 })
  if (command.verb === 'VDEL' && !sameBytes(record.value, command.value)) return unchanged(record, { type: 'refused' })
  return { record: undefined, reply: { type: 'count', count: 1 }, version: context.next, change: { op: 'delete' } }
}

function applySet(record: StoredRecord | undefined, command: SetCommand, context: ApplyContext): ApplyResult {
  if (!conditionHolds(record, command)) return unchanged(record, { type: 'refused' })
  const written: StoredRecord = {
    value: command.value,
    version: context.next,
    fencingToken: newerToken(record?.fencingToken, context.fencingToken),
    expiresAt: command.px === undefined ? undefined : Math.min(context.now + command.px, MAX_TIME_MS),
    volatile: context.volatile,
    owner: context.owner,
  }
  return { record: written, reply: { type: 'ok' }, version: context.next, change: { op: 'set', value: command.value } }
}

function conditionHolds(record: StoredRecord | undefined, { condition, value }: SetCommand): boolean {
  if (condition?.type === 'IFVER') return record?.version.compareTo(condition.version) === 0
  if (condition === undefined || record === undefined) return true
  return condition.type === 'NEX' && sameBytes(record.value, condition.comparand ?? value)
}

function checkFencingToken(recordToken: Hlc | undefined, token: Hlc | undefined): KnownServiceErrorCode | undefined {
  if (recordToken === undefined) return undefined
  if (token === undefined) return 'fencing-token-required'
  return token.compareTo(recordToken) < 0 ? 'fencing-token-stale' : undefined
}

/** Returns the newer of two fencing tokens, so that the token of a key never gets older. */
export const newerToken = (recordToken: Hlc | undefined, token: Hlc | undefined): Hlc | undefined =>
  recordToken && (token === undefined || recordToken.compareTo(token) > 0) ? recordToken : token

const unchanged = (record: StoredRecord | undefined, reply: Reply): ApplyResult => ({
  record,
  reply,
  version: record?.version,
  change: undefined,
})
