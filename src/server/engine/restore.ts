import { type Hlc, MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { fromBinaryString, toBinaryString } from '../../core/util/bytes.js'
import { StringMap } from '../../core/util/string-map.js'
import { newer } from './apply.js'
import type { Change, Restoration } from './command-result.js'
import type { Entry, Load, Restored } from './entry.js'
import { costOf, type Records } from './records.js'
import { LARGEST_COUNTER, type VersionClock } from './version-clock.js'

/** A record to be stored, by its key as a binary string. */
type Step = readonly [id: string, item: Restored]

/** How records are to be stored: first those that keep their version, in its order, then those that get a new one. */
export interface RestorePlan {
  readonly kept: readonly (readonly [...Step, version: Hlc])[]
  readonly renewed: readonly Step[]
  /** Number of those whose time is over already. */
  readonly expired: number
}

/**
 * Stores records of a dump, in one step and regardless of fencing tokens, which never get older. With `replace`, keys that
 * are not among them are deleted. Raises {@link CommandError} (`quota-exceeded`), and then changes nothing.
 */
export function restore(
  { items, replace }: Load,
  { time, maxKeys, maxBytes }: Entry,
  records: Records,
  clock: VersionClock,
): Restoration {
  const plan = planRestore(items, clock.last, time)
  const { keys, bytes } = extentOf(plan, records, replace)
  if (keys > maxKeys || bytes > maxBytes) throw new CommandError('quota-exceeded')
  const changes: Change[] = []
  for (const [id, item, version] of plan.kept) {
    clock.keep(version)
    changes.push(store(id, item, version, records))
  }
  for (const [id, item] of plan.renewed) changes.push(store(id, item, clock.tick(time), records))
  const loaded = changes.length
  // Not spread: a call takes only so many arguments.
  if (replace) for (const deletion of deleteAll(idsBesides(plan, records), time, records, clock)) changes.push(deletion)
  const deleted = changes.length - loaded
  return { changes, loaded, versionsKept: plan.kept.length, expired: plan.expired, deleted }
}

/** Deletes keys at store time `now` (ms), and says so one by one. */
export function* deleteAll(
  ids: readonly string[],
  now: number,
  records: Records,
  clock: VersionClock,
): Generator<Change, void> {
  for (const id of ids) {
    records.remove(id)
    yield { key: fromBinaryString(id), notification: { op: 'delete' }, version: clock.tick(now) }
  }
}

function store(id: string, item: Restored, version: Hlc, records: Records): Change {
  const { key, value, expiresAt, volatile } = item
  const fencingToken = newer(records.get(id)?.fencingToken, item.fencingToken)
  records.put(id, { value, version, fencingToken, expiresAt, volatile })
  return { key, notification: { op: 'set', value }, version }
}

/**
 * What to do with records at store time `now` (ms), when `last` is the newest version the store has given out. A version
 * is kept if it is newer than that: then it is newer than all that anybody has seen of the key. Of a key that comes
 * twice, the later record counts.
 */
export function planRestore(items: readonly Restored[], last: Hlc, now: number): RestorePlan {
  const latest = new StringMap<Restored>()
  for (const item of items) latest.set(toBinaryString(item.key), item)
  const alive = Array.from(latest).filter(([, { expiresAt }]) => expiresAt === undefined || expiresAt > now)
  alive.sort(([, a], [, b]) => inOrder(a.version, b.version))
  const kept: [string, Restored, Hlc][] = []
  const renewed: Step[] = []
  for (const [id, item] of alive) {
    const { version } = item
    if (version !== undefined && version.compareTo(last) > 0 && isNear(version, now)) kept.push([id, item, version])
    else renewed.push([id, item])
  }
  return { kept, renewed, expired: latest.size - alive.length }
}

/** How many keys, and bytes, there are when a plan is done; with `replace`, nothing else is left. */
export function extentOf(
  { kept, renewed }: RestorePlan,
  records: Records,
  replace: boolean,
): { readonly keys: number; readonly bytes: number } {
  let [keys, bytes] = replace ? [0, 0] : [records.size, records.bytes]
  for (const [id, item] of [...kept, ...renewed]) {
    const old = replace ? undefined : records.get(id)
    if (old === undefined) keys++
    bytes += costOf(id, item) - (old === undefined ? 0 : costOf(id, old))
  }
  return { keys, bytes }
}

/** Keys that a plan has nothing to do with. */
export function idsBesides({ kept, renewed }: RestorePlan, records: Records): string[] {
  const planned = new StringMap<true>()
  for (const [id] of kept) planned.set(id, true)
  for (const [id] of renewed) planned.set(id, true)
  return Array.from(records.ids()).filter(id => !planned.has(id))
}

// A store that had given out a version of the far future could give out none after it.
const isNear = ({ wallClock, counter }: Hlc, now: number): boolean =>
  wallClock - now <= MAX_DRIFT_MS && counter <= LARGEST_COUNTER

function inOrder(a: Hlc | undefined, b: Hlc | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  return a.compareTo(b)
}
