import { ArgumentError, shown } from './errors.js'

/** Throws {@link ArgumentError} unless the value is an integer greater than zero. */
export function checkPositiveInteger(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value > 0) return
  throw new ArgumentError(`Expected \`${name}\` to be a positive integer, got \`${shown(value)}\` (${typeof value})`)
}

/** Throws {@link ArgumentError} unless the value is a function. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new ArgumentError(`Expected \`${name}\` to be a function, got \`${shown(value)}\` (${typeof value})`)
}

/** Throws {@link ArgumentError} unless the value is an object. */
export function checkObject(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return
  throw new ArgumentError(`Expected \`${name}\` to be an object, got \`${shown(value)}\` (${typeof value})`)
}
