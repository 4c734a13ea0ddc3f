import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyCommand, SetCommand } from '../../core/protocol/commands.js'
import type { Notification } from '../../core/protocol/notifications.js'
import type { Reply } from '../../core/protocol/replies.js'
import type { KnownServiceErrorCode } from '../../core/protocol/service-errors.js'
import { sameBytes } from '../../core/util/bytes.js'

/** What the store keeps of a key. */
export interface StoredRecord {
  readonly value: Uint8Array
  readonly version: Hlc
  /** Later writes must carry this token or a newer one. */
  readonly fencingToken: Hlc | undefined
  /** Store wall time at which the key is gone, ms since the Unix epoch. */
  readonly expiresAt: number | undefined
  /** Gone when the store starts again, also one that keeps its keys on disk. */
  readonly volatile?: true | undefined
  /** To whose quota it counts: who wrote it last; `undefined` for nobody's. */
  readonly owner?: string | undefined
}

/** What a command makes of a record. Without a `change` the record stays as it is. */
export interface Outcome {
  readonly record: StoredRecord | undefined
  readonly reply: Reply
  /** `__ts` of the response. */
  readonly version: Hlc | undefined
  readonly change: Notification | undefined
}

/** The clocks a command is applied with. */
export interface Clocks {
  /** Store wall time, ms since the Unix epoch. */
  readonly now: number
  /** The version a change would get. */
  readonly next: Hlc
  readonly fencingToken: Hlc | undefined
  /** What is written shall not outlive this start of the store. */
  readonly volatile?: true | undefined
  /** Who writes. */
  readonly owner?: string | undefined
}

/** Commands that look at a record; KEYNOTIFY looks at registrations only, SCAN at all keys. */
export type RecordCommand = Exclude<KeyCommand, { verb: 'KEYNOTIFY' }>

/**
 * The store's rules for one key, as a pure function: (record, command, clocks) to (record, reply, change).
 * Sources: state store protocol, "Supported commands", "Response format", "Fencing token algorithm".
 */
export function apply(record: StoredRecord | undefined, command: RecordCommand, clocks: Clocks): Outcome {
  if (command.verb === 'GET')
    return unchanged(record, record ? { type: 'value', value: record.value } : { type: 'absent' })
  const refusal = fence(record?.fencingToken, clocks.fencingToken)
  if (refusal !== undefined)
    return { record, reply: { type: 'error', code: refusal }, version: undefined, change: undefined }
  if (command.verb === 'SET') return applySet(record, command, clocks)
  if (record === undefined) return unchanged(record, { type: 'count', count: 0 })
  if (command.verb === 'VDEL' && !sameBytes(record.value, command.value)) return unchanged(record, { type: 'refused' })
  return { record: undefined, reply: { type: 'count', count: 1 }, version: clocks.next, change: { op: 'delete' } }
}

function applySet(record: StoredRecord | undefined, command: SetCommand, clocks: Clocks): Outcome {
  if (!conditionHolds(record, command)) return unchanged(record, { type: 'refused' })
  const written: StoredRecord = {
    value: command.value,
    version: clocks.next,
    fencingToken: newer(record?.fencingToken, clocks.fencingToken),
    expiresAt: command.px === undefined ? undefined : clocks.now + command.px,
    volatile: clocks.volatile,
    owner: clocks.owner,
  }
  return { record: written, reply: { type: 'ok' }, version: clocks.next, change: { op: 'set', value: command.value } }
}

function conditionHolds(record: StoredRecord | undefined, { condition, value }: SetCommand): boolean {
  if (condition?.type === 'IFVER') return record?.version.compareTo(condition.version) === 0
  if (condition === undefined || record === undefined) return true
  return condition.type === 'NEX' && sameBytes(record.value, condition.comparand ?? value)
}

function fence(guard: Hlc | undefined, token: Hlc | undefined): KnownServiceErrorCode | undefined {
  if (guard === undefined) return undefined
  if (token === undefined) return 'fencing-token-required'
  return token.compareTo(guard) < 0 ? 'fencing-token-stale' : undefined
}

/** The newer of two fencing tokens: what protects a key never gets older. */
export const newer = (guard: Hlc | undefined, token: Hlc | undefined): Hlc | undefined =>
  guard && (token === undefined || guard.compareTo(token) > 0) ? guard : token

const unchanged = (record: StoredRecord | undefined, reply: Reply): Outcome => ({
  record,
  reply,
  version: record?.version,
  change: undefined,
})
