export interface KeyState {
  readonly op: string
  readonly value?: string | undefined
  readonly version?: { toString(): string } | undefined
}

const MAX_SHOWN = 200

const describe = (held: KeyState): string =>
  held.op === 'set' ? `${held.value?.slice(0, MAX_SHOWN)} with version ${held.version}` : 'nothing'

/**
 * Returns the difference between the final state of a watch and the final state of the store. `shown` is `undefined` if
 * the watch has shown nothing yet.
 */
export function compareState(shown: KeyState | undefined, held: KeyState): string | undefined {
  const isSame =
    shown !== undefined &&
    (shown.op === 'set') === (held.op === 'set') &&
    (held.op !== 'set' || (shown.value === held.value && String(shown.version) === String(held.version)))
  return isSame ? undefined : `shows ${shown ? describe(shown) : 'no entry'}, stored is ${describe(held)}`
}

/** The final state of a watched glob. */
export interface GlobView {
  readonly isLive: boolean
  readonly last: (key: string) => KeyState | undefined
  readonly map: ReadonlyMap<string, string> | undefined
  readonly fits: (key: string) => boolean
}

/** Returns the differences between the final state of a watched glob and the stored keys. */
export function compareGlobView(
  { isLive, last, map, fits }: GlobView,
  stored: ReadonlyMap<string, KeyState>,
): string[] {
  if (!isLive) return ['the watch is not live']
  if (map === undefined) return ['the watch has no map']
  const differences: string[] = []
  for (const [key, held] of stored) {
    const expected = fits(key) ? held : { op: 'absent' }
    const violation = compareState(last(key) ?? { op: 'absent' }, expected)
    if (violation !== undefined) differences.push(`${key} ${violation}`)
    const value = expected.op === 'set' ? expected.value : undefined
    if (map.get(key) !== value)
      differences.push(`${key} is ${map.get(key)?.slice(0, MAX_SHOWN)} in the map, stored is ${describe(held)}`)
  }
  for (const key of map.keys()) if (!stored.has(key)) differences.push(`${key} is in the map but was never written`)
  return differences
}
