import { type Hlc, MAX_COUNTER, MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { fromBinaryString, toBinaryString } from '../../core/util/bytes.js'
import { StringMap } from '../../core/util/string-map.js'
import { newerToken } from './apply.js'
import type { KeyChange, RestoreResult } from './command-result.js'
import type { LogEntry, LoggedLoad, RestoredRecord } from './entry.js'
import { type Records, recordBytes } from './records.js'
import type { VersionClock } from './version-clock.js'

type RestoreStep = readonly [id: string, item: RestoredRecord]

/**
 * The order in which a dump is stored. Records that keep their version come first, sorted by version, then the records
 * that get a new version.
 */
export interface RestorePlan {
  readonly kept: readonly (readonly [...RestoreStep, version: Hlc])[]
  readonly renewed: readonly RestoreStep[]
  readonly expired: number
}

/**
 * Stores the records of a dump atomically. Requires no fencing token, and never replaces a key's token by an older
 * one. With `replace`, deletes all other keys. If the dump exceeds a quota, throws {@link CommandError}
 * (`quota-exceeded`) and changes nothing.
 */
export function restore(
  { items, replace }: LoggedLoad,
  { time, maxKeys, maxBytes }: LogEntry,
  records: Records,
  clock: VersionClock,
): RestoreResult {
  const plan = planRestore(items, clock.last, time)
  const { keys, bytes } = usageAfter(plan, records, replace)
  if (keys > maxKeys || bytes > maxBytes) throw new CommandError('quota-exceeded')
  const changes: KeyChange[] = []
  for (const [id, item, version] of plan.kept) {
    clock.advanceTo(version)
    changes.push(storeRecord(id, item, version, records))
  }
  for (const [id, item] of plan.renewed) changes.push(storeRecord(id, item, clock.tick(time), records))
  const loaded = changes.length
  // A loop is used instead of a spread, because a call takes a limited number of arguments.
  if (replace) for (const deletion of deleteAll(idsNotIn(plan, records), time, records, clock)) changes.push(deletion)
  const deleted = changes.length - loaded
  return { changes, loaded, versionsKept: plan.kept.length, expired: plan.expired, deleted }
}

/** Deletes keys at store time `now` (ms), and yields each change. */
export function* deleteAll(
  ids: readonly string[],
  now: number,
  records: Records,
  clock: VersionClock,
): Generator<KeyChange, void> {
  for (const id of ids) {
    records.remove(id)
    yield { key: fromBinaryString(id), notification: { op: 'delete' }, version: clock.tick(now) }
  }
}

function storeRecord(id: string, item: RestoredRecord, version: Hlc, records: Records): KeyChange {
  const { key, value, expiresAt, volatile } = item
  const before = records.get(id)
  const fencingToken = newerToken(before?.fencingToken, item.fencingToken)
  records.put(id, { value, version, fencingToken, expiresAt, volatile })
  return { key, notification: { op: 'set', value }, version, isNew: before === undefined }
}

/**
 * Plans a load at store time `now` (ms), where `last` is the newest version assigned by the store. A record keeps its
 * version if that is newer than `last`, and thus newer than any version of the key that a client has seen. If a key
 * occurs twice, the later record wins.
 */
export function planRestore(items: readonly RestoredRecord[], last: Hlc, now: number): RestorePlan {
  const latest = new StringMap<RestoredRecord>()
  for (const item of items) latest.set(toBinaryString(item.key), item)
  const alive = Array.from(latest).filter(([, { expiresAt }]) => expiresAt === undefined || expiresAt > now)
  alive.sort(([, a], [, b]) => compareVersions(a.version, b.version))
  const kept: [string, RestoredRecord, Hlc][] = []
  const renewed: RestoreStep[] = []
  for (const [id, item] of alive) {
    const { version } = item
    if (version !== undefined && version.compareTo(last) > 0 && isAcceptable(version, now))
      kept.push([id, item, version])
    else renewed.push([id, item])
  }
  return { kept, renewed, expired: latest.size - alive.length }
}

/** Returns the numbers of keys and bytes in the store after a plan is executed. */
export function usageAfter(
  { kept, renewed }: RestorePlan,
  records: Records,
  replace: boolean,
): { readonly keys: number; readonly bytes: number } {
  let [keys, bytes] = replace ? [0, 0] : [records.size, records.bytes]
  for (const [id, item] of [...kept, ...renewed]) {
    const old = replace ? undefined : records.get(id)
    if (old === undefined) keys++
    bytes += recordBytes(id, item) - (old === undefined ? 0 : recordBytes(id, old))
  }
  return { keys, bytes }
}

export function idsNotIn({ kept, renewed }: RestorePlan, records: Records): string[] {
  const planned = new StringMap<true>()
  for (const [id] of kept) planned.set(id, true)
  for (const [id] of renewed) planned.set(id, true)
  return Array.from(records.ids()).filter(id => !planned.has(id))
}

// After a version in the far future, the store could not assign a newer version.
const isAcceptable = ({ wallClock, counter }: Hlc, now: number): boolean =>
  wallClock - now <= MAX_DRIFT_MS && counter <= MAX_COUNTER

function compareVersions(a: Hlc | undefined, b: Hlc | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  return a.compareTo(b)
}
