import { ArgumentError } from '../base/errors.js'

/** What JSON makes `{}` of, or an object of numbers, or nothing. */
const LOST = [Map, Set, WeakMap, WeakSet, ArrayBuffer, RegExp, Error, Promise] as const

/**
 * Throws {@link ArgumentError}, with the path, for what `JSON.stringify` would change or leave out without a word. Properties
 * that are `undefined` may be left out: that is how optional ones are written. What says itself how it becomes JSON
 * (`toJSON`, such as a Date) knows what it does.
 */
export function checkLossless(value: unknown): void {
  check(value, '', new Set())
}

/** @param around - the objects that it is in: of a circle JSON says itself what is wrong */
function check(value: unknown, path: string, around: Set<object>): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw lost(String(value), path)
    return
  }
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') {
    throw lost(typeof value, path)
  }
  if (typeof value !== 'object' || value === null || 'toJSON' in value || around.has(value)) return
  around.add(value)
  if (Array.isArray(value)) checkArray(value, path, around)
  else checkProperties(value, path, around)
  around.delete(value)
}

function checkArray(items: readonly unknown[], path: string, around: Set<object>): void {
  // By index: a hole is passed over by everything else, and becomes null.
  for (let i = 0; i < items.length; i++) {
    if (items[i] === undefined) throw lost('undefined', `${path}[${i}]`)
    check(items[i], `${path}[${i}]`, around)
  }
}

function checkProperties(value: object, path: string, around: Set<object>): void {
  if (ArrayBuffer.isView(value) || LOST.some(kind => value instanceof kind)) {
    throw lost(value.constructor.name, path)
  }
  for (const [name, property] of Object.entries(value)) check(property, path === '' ? name : `${path}.${name}`, around)
}

const lost = (what: string, path: string): ArgumentError =>
  new ArgumentError(`JSON has no ${what}${path === '' ? '' : ` (at ${path})`}: write it as text or a plain object`)
