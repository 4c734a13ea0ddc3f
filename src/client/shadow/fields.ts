/** Whether two JSON values are the same, whatever the order of their fields. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = fieldsOf(one)
  return (
    names.length === fieldsOf(other).length && names.every(name => isSame(fieldOf(one, name), fieldOf(other, name)))
  )
}

/** The fields in which somebody wants something else than there is. What is not wanted at all may be as it is. */
export function difference<T extends object>(wanted: T | undefined, actual: T | undefined): Partial<T> {
  const delta: Partial<T> = {}
  for (const name of fieldsOf(wanted)) {
    const value = fieldOf(wanted, name)
    if (!isSame(value, fieldOf(actual, name))) put(delta, name, value)
  }
  return delta
}

/** A document with some fields changed; `undefined` takes a field out. */
export function patched<T extends object>(document: T | undefined, patch: Partial<T>): Partial<T> {
  const next: Partial<T> = { ...document }
  for (const name of Object.keys(patch)) put(next, name, fieldOf(patch, name))
  return next
}

/**
 * The fields that I have changed, and all others as somebody else has them by now: two who write different fields lose
 * nothing, of one field the last counts, and of a document that was deleted nothing comes back but what I wrote.
 *
 * @param changed - names of my fields, if they are known; default those that differ from what mine was made from
 */
export function mergedFields<T extends object>(
  mine: T,
  theirs: T | undefined,
  base: T | undefined,
  changed?: ReadonlySet<string>,
): T {
  const result: T = { ...mine }
  for (const name of new Set([...fieldsOf(mine), ...fieldsOf(theirs), ...fieldsOf(base)])) {
    const isMine = changed?.has(name) ?? !isSame(fieldOf(mine, name), fieldOf(base, name))
    if (!isMine) put(result, name, fieldOf(theirs, name))
  }
  return result
}

/** Whether there are no fields. */
export const isEmpty = (document: object): boolean => fieldsOf(document).length === 0

const fieldsOf = (document: object | undefined): string[] =>
  Object.keys(document ?? {}).filter(name => fieldOf(document, name) !== undefined)

const fieldOf = (document: object | undefined, name: string): unknown =>
  document && Object.hasOwn(document, name) ? Reflect.get(document, name) : undefined

function put(document: object, name: string, value: unknown): void {
  if (value === undefined) Reflect.deleteProperty(document, name)
  else Object.defineProperty(document, name, { value, configurable: true, enumerable: true, writable: true })
}
