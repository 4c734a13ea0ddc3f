import { isBytes } from './built-in-types.js'
import { sameBytes } from './bytes.js'

/** Maximum depth of the comparison, because values may be cyclic. */
const MAX_DEPTH = 64

/**
 * Compares the content of two values: plain objects by their fields in any order, arrays by their elements, bytes by
 * value, and all other values by identity.
 *
 * @example
 * ```ts
 * hasSameContent({ a: [1, 2] }, { a: [1, 2] }) // true
 * hasSameContent(new Date(0), new Date(0)) // false
 * ```
 */
export function hasSameContent(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true
  if (isBytes(one) && isBytes(other)) return sameBytes(one, other)
  if (!isPlain(one) || !isPlain(other) || depth > MAX_DEPTH) return false
  const names = Object.keys(one)
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === Object.keys(other).length &&
    names.every(
      name => Object.hasOwn(other, name) && hasSameContent(Reflect.get(one, name), Reflect.get(other, name), depth + 1),
    )
  )
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null) return true
  const base: unknown = Array.isArray(value) ? Object.getPrototypeOf(prototype) : prototype
  // The prototype of plain objects has none itself, in any realm.
  return base === null || Object.getPrototypeOf(base) === null
}
