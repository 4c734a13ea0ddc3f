import { ArgumentError, formatValue } from './errors.js'

/** A safe integer greater than zero, in an error. */
export const POSITIVE_INTEGER = 'a positive integer up to 2^53 - 1'

/** Throws {@link ArgumentError} unless the value is an integer greater than zero. */
export function checkPositiveInteger(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value > 0) return
  throw new ArgumentError(
    `Expected \`${name}\` to be ${POSITIVE_INTEGER}, got \`${formatValue(value)}\` (${typeof value})`,
  )
}

/** Throws {@link ArgumentError} unless the value is a function. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new ArgumentError(`Expected \`${name}\` to be a function, got \`${formatValue(value)}\` (${typeof value})`)
}

/** Throws {@link ArgumentError} unless the value is an object. */
export function checkObject(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return
  throw new ArgumentError(`Expected \`${name}\` to be an object, got \`${formatValue(value)}\` (${typeof value})`)
}

/** Throws {@link ArgumentError} unless the value is an object that has these methods. */
export function checkHas(name: string, value: unknown, methods: readonly string[]): void {
  checkObject(name, value)
  const wrong = methods.find(method => typeof Reflect.get(Object(value), method) !== 'function')
  if (wrong !== undefined) throw new ArgumentError(`Expected \`${name}\` to have a method \`${wrong}\``)
}

/** Throws {@link ArgumentError} unless the value is `true` or `false`: text such as `'false'` would count as true. */
export function checkFlag(name: string, value: unknown): void {
  if (typeof value === 'boolean') return
  throw new ArgumentError(`Expected \`${name}\` to be true or false, got \`${formatValue(value)}\` (${typeof value})`)
}

/** Throws {@link ArgumentError} unless the value is one of the choices. */
export function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  throw new ArgumentError(`Expected \`${name}\` to be one of ${choices.join(', ')}, got \`${formatValue(value)}\``)
}

/** The names of options; the compiler asks for all of them, and for no other. */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true }

/** What options are called elsewhere, and what here. */
export type OtherNames = Readonly<Record<string, string>>

/** Letters that may be wrong in a name that is still recognised. */
const MISSPELT = 2

/**
 * Throws {@link ArgumentError} for options that are none of the known: one that is misspelt and ignored is a fault that
 * nobody sees. Costs nothing worth counting, for options are few.
 *
 * @param call - whose options they are, for the message
 */
export function checkOptionNames(call: string, options: object, known: object, elsewhere: OtherNames = {}): void {
  checkObject(`the options of ${call}`, options)
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue
    const names = Object.keys(known)
    const meant = (Object.hasOwn(elsewhere, name) && elsewhere[name]) || nearest(name, names)
    const remedy = meant ? `did you mean \`${meant}\`?` : `known are ${names.map(one => `\`${one}\``).join(', ')}`
    throw new ArgumentError(`Unknown option \`${name.slice(0, 80)}\` of ${call}: ${remedy}`)
  }
}

function nearest(name: string, names: readonly string[]): string | undefined {
  const plain = name.slice(0, 80).toLowerCase()
  const [best] = names.map(one => ({ one, far: distance(plain, one.toLowerCase()) })).sort((a, b) => a.far - b.far)
  return best && best.far <= Math.min(MISSPELT, Math.ceil(plain.length / 3)) ? best.one : undefined
}

/** Levenshtein's: how many letters have to be put in, left out or changed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1])
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
