/** The state of a key according to a watch or a store. */
export interface Held {
  readonly op: string
  readonly value?: string | undefined
  readonly version?: { toString(): string } | undefined
}

const MAX_SHOWN = 200

const describe = (held: Held): string =>
  held.op === 'set' ? `${held.value?.slice(0, MAX_SHOWN)} with version ${held.version}` : 'nothing'

/**
 * Returns the difference between what a watch shows and what the store holds after all activity has ended. `shown` is
 * `undefined` if the watch has shown nothing yet.
 */
export function judgeShown(shown: Held | undefined, held: Held): string | undefined {
  const isSame =
    shown !== undefined &&
    (shown.op === 'set') === (held.op === 'set') &&
    (held.op !== 'set' || (shown.value === held.value && String(shown.version) === String(held.version)))
  return isSame ? undefined : `shows ${shown ? describe(shown) : 'no entry'}, stored is ${describe(held)}`
}

/** The final state of a watched glob. */
export interface GlobView {
  readonly isLive: boolean
  /** Returns the last entry of a key. */
  readonly last: (key: string) => Held | undefined
  readonly map: ReadonlyMap<string, string> | undefined
  readonly fits: (key: string) => boolean
}

/** Returns the differences between the final state of a watched glob and the stored keys. */
export function judgeGlobView({ isLive, last, map, fits }: GlobView, stored: ReadonlyMap<string, Held>): string[] {
  if (!isLive) return ['the watch is not live']
  if (map === undefined) return ['the watch has no map']
  const wrong: string[] = []
  for (const [key, held] of stored) {
    const own = fits(key) ? held : { op: 'absent' }
    const complaint = judgeShown(last(key) ?? { op: 'absent' }, own)
    if (complaint !== undefined) wrong.push(`${key} ${complaint}`)
    const value = own.op === 'set' ? own.value : undefined
    if (map.get(key) !== value)
      wrong.push(`${key} is ${map.get(key)?.slice(0, MAX_SHOWN)} in the map, stored is ${describe(held)}`)
  }
  for (const key of map.keys()) if (!stored.has(key)) wrong.push(`${key} is in the map but was never written`)
  return wrong
}
