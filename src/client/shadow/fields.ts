import { MAX_NESTING } from '../../core/util/json-nesting.js'

/** Compares JSON values, ignoring the order of fields. Values that are nested too deep, such as cyclic ones, differ. */
export function isSame(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true
  if (depth > MAX_NESTING) return false
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = fieldsOf(one)
  return (
    names.length === fieldsOf(other).length &&
    names.every(name => isSame(fieldOf(one, name), fieldOf(other, name), depth + 1))
  )
}

/** Returns the desired fields whose values differ. Fields that are not desired may have any value. */
export function difference<T extends object>(desired: T | undefined, actual: T | undefined): Partial<T> {
  const delta: Partial<T> = {}
  for (const name of fieldsOf(desired)) {
    const value = fieldOf(desired, name)
    if (!isSame(value, fieldOf(actual, name))) setField(delta, name, value)
  }
  return delta
}

/** Fields to change. The value `undefined` removes a field, also with `exactOptionalPropertyTypes`. */
export type ShadowPatch<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** Returns a document with changed fields. */
export function applyPatch<T extends object>(document: Partial<T> | undefined, patch: ShadowPatch<T>): Partial<T> {
  const next: Partial<T> = { ...document }
  for (const name of Object.keys(patch)) setField(next, name, fieldOf(patch, name))
  return next
}

/**
 * Merges documents by field: the changed fields from `mine`, all others from `theirs`. Concurrent writes to different
 * fields are both kept; of writes to the same field the last one wins. After a deletion only the changed fields are
 * written.
 *
 * @param changed - names of the changed fields; default: the fields that differ from `base`
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
    if (!isMine) setField(result, name, fieldOf(theirs, name))
  }
  return result
}

export const isEmpty = (document: object): boolean => fieldsOf(document).length === 0

const fieldsOf = (document: object | undefined): string[] =>
  Object.keys(document ?? {}).filter(name => fieldOf(document, name) !== undefined)

const fieldOf = (document: object | undefined, name: string): unknown =>
  document && Object.hasOwn(document, name) ? Reflect.get(document, name) : undefined

function setField(document: object, name: string, value: unknown): void {
  if (value === undefined) Reflect.deleteProperty(document, name)
  else Object.defineProperty(document, name, { value, configurable: true, enumerable: true, writable: true })
}
