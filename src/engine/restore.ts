import { toBinaryString } from '../bytes.js'
import type { Hlc } from '../hlc/hlc.js'
import { MAXIMUM_DRIFT } from '../hlc/hlc-clock.js'
import type { StoredRecord } from './apply.js'
import { LARGEST_COUNTER } from './request.js'

/** A record of a dump: a version that is missing, or not to be kept, becomes a new one. */
export interface Restored extends Omit<StoredRecord, 'version'> {
  readonly key: Uint8Array
  readonly version: Hlc | undefined
}

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
 * What to do with records at store time `now` (ms), when `last` is the newest version the store has given out. A version
 * is kept if it is newer than that: then it is newer than all that anybody has seen of the key. Of a key that comes
 * twice, the later record counts.
 */
export function planRestore(items: Iterable<Restored>, last: Hlc, now: number): RestorePlan {
  const latest = new Map<string, Restored>()
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

// A store that had given out a version of the far future could give out none after it.
const isNear = ({ wallClock, counter }: Hlc, now: number): boolean =>
  wallClock - now <= MAXIMUM_DRIFT && counter <= LARGEST_COUNTER

function inOrder(a: Hlc | undefined, b: Hlc | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  return a.compareTo(b)
}
