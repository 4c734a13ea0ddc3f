import { CommandError } from '../../core/protocol/parse-command.js'
import type { StoredRecord } from './apply.js'
import type { Owner, Room } from './entry.js'
import { costOf, type Records } from './records.js'

/** What a SET makes of a record. */
export interface Replacement {
  /** The key as a binary string. */
  readonly id: string
  readonly before: StoredRecord | undefined
  readonly after: StoredRecord
}

/**
 * Raises {@link CommandError} (`quota-exceeded`) when there is no room for a record, in the store or in what is its
 * writer's. Less in place of more is always taken.
 */
export function checkRoom(records: Records, replacement: Replacement, room: Room, owner: Owner | undefined): void {
  const { before } = replacement
  check(records.size, records.bytes, before, replacement, room)
  if (owner === undefined) return
  const own = before?.owner === owner.id ? before : undefined
  const { keys, bytes } = records.shares.of(owner.id)
  check(keys, bytes, own, replacement, owner)
}

function check(
  keys: number,
  bytes: number,
  before: StoredRecord | undefined,
  { id, after }: Replacement,
  { maxKeys, maxBytes }: Room,
): void {
  const more = costOf(id, after) - (before === undefined ? 0 : costOf(id, before))
  const isFull = before === undefined && keys >= maxKeys
  if (isFull || (more > 0 && bytes + more > maxBytes)) throw new CommandError('quota-exceeded')
}
