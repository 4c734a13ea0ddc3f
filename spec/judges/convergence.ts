/** What a watch shows of a key, or a store holds. */
export interface Held {
  readonly op: string
  readonly value?: string | undefined
  readonly version?: { toString(): string } | undefined
}

const MAX_SHOWN = 200

/** Describes a value and its version, or that there is none. */
const describe = (held: Held): string =>
  held.op === 'set' ? `${held.value?.slice(0, MAX_SHOWN)} with version ${held.version}` : 'nothing'

/** Returns what is wrong with what a watch shows when all is quiet; `shown` is missing for one that has shown nothing yet. */
export function judgeShown(shown: Held | undefined, held: Held): string | undefined {
  const isSame =
    shown !== undefined &&
    (shown.op === 'set') === (held.op === 'set') &&
    (held.op !== 'set' || (shown.value === held.value && String(shown.version) === String(held.version)))
  return isSame ? undefined : `shows ${shown ? describe(shown) : 'no entry'}, stored is ${describe(held)}`
}

/** What a watch of a glob has when all is quiet. */
export interface GlobView {
  readonly isLive: boolean
  /** The last entry of a key. */
  readonly last: (key: string) => Held | undefined
  readonly map: ReadonlyMap<string, string> | undefined
  readonly fits: (key: string) => boolean
}

/** Returns what is wrong with what a watch of a glob has when all is quiet, by what is stored under all keys there are. */
export function judgeGlobView({ isLive, last, map, fits }: GlobView, stored: ReadonlyMap<string, Held>): string[] {
  if (!isLive) return ['it is not live']
  if (map === undefined) return ['it has no map']
  const wrong: string[] = []
  for (const [key, held] of stored) {
    const own = fits(key) ? held : { op: 'absent' }
    const complaint = judgeShown(last(key) ?? { op: 'absent' }, own)
    if (complaint !== undefined) wrong.push(`${key} ${complaint}`)
    const value = own.op === 'set' ? own.value : undefined
    if (map.get(key) !== value)
      wrong.push(`${key} is ${map.get(key)?.slice(0, MAX_SHOWN)} in the map, stored is ${describe(held)}`)
  }
  for (const key of map.keys()) if (!stored.has(key)) wrong.push(`${key} is in the map, and nobody wrote it`)
  return wrong
}
