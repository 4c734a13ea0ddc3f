import { ArgumentError, formatValue } from './errors.js'

/**
 * Throws {@link ArgumentError} for a value that a call does not accept.
 *
 * @param expected - what is expected of the value, such as `'a store'`
 */
export function checkArgument(isValid: boolean, expected: string, value: unknown): asserts isValid {
  if (!isValid)
    throw new ArgumentError(`Expected ${expected}, got \`${formatValue(value).slice(0, 80)}\` (${typeof value})`)
}

export const POSITIVE_INTEGER = 'a positive integer up to 2^53 - 1'

export function checkPositiveInteger(name: string, value: number): void {
  checkArgument(Number.isSafeInteger(value) && value > 0, `\`${name}\` to be ${POSITIVE_INTEGER}`, value)
}

export function checkFunction(name: string, value: unknown): void {
  checkArgument(typeof value === 'function', `\`${name}\` to be a function`, value)
}

export function checkObject(name: string, value: unknown): void {
  checkArgument(typeof value === 'object' && value !== null, `\`${name}\` to be an object`, value)
}

export function checkHas(name: string, value: unknown, methods: readonly string[]): void {
  checkObject(name, value)
  const wrong = methods.find(method => typeof Reflect.get(Object(value), method) !== 'function')
  if (wrong !== undefined) throw new ArgumentError(`Expected \`${name}\` to have a method \`${wrong}\``)
}

/** Throws {@link ArgumentError} unless the value is a boolean, because text such as `'false'` would count as true. */
export function checkFlag(name: string, value: unknown): void {
  checkArgument(typeof value === 'boolean', `\`${name}\` to be true or false`, value)
}

export function checkChoice(name: string, value: string, choices: readonly string[]): void {
  checkArgument(choices.includes(value), `\`${name}\` to be one of ${choices.join(', ')}`, value)
}

/** The names of options. The compiler requires all of them and allows no other. */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true }

export type ForeignOptionNames = Readonly<Record<string, string>>

const MAX_EDIT_DISTANCE = 2

/**
 * Throws {@link ArgumentError} for unknown options, because a misspelt option would be ignored silently.
 *
 * @param call - name of the function that takes the options, for the message
 */
export function checkOptionNames(
  call: string,
  options: object,
  known: object,
  elsewhere: ForeignOptionNames = {},
): void {
  checkObject(`the options of ${call}`, options)
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue
    const names = Object.keys(known)
    const meant = (Object.hasOwn(elsewhere, name) && elsewhere[name]) || nearestName(name, names)
    const remedy = meant ? `did you mean \`${meant}\`?` : `known are ${names.map(one => `\`${one}\``).join(', ')}`
    throw new ArgumentError(`Unknown option \`${name.slice(0, 80)}\` of ${call}: ${remedy}`)
  }
}

/** Returns the name that a misspelt name most likely means, also for another spelling such as `maxKeys`. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const plain = normalized(name.slice(0, 80))
  const [best] = names.map(one => ({ one, far: editDistance(plain, normalized(one)) })).sort((a, b) => a.far - b.far)
  return best && best.far <= Math.min(MAX_EDIT_DISTANCE, Math.ceil(plain.length / 3)) ? best.one : undefined
}

const normalized = (name: string): string => name.replace(/[-_]/g, '').toLowerCase()

/** Returns the Levenshtein distance: the number of insertions, deletions and substitutions. */
function editDistance(a: string, b: string): number {
  let row = Array.from(`${b} `, (_, j) => j)
  for (const char of a) {
    let left = Number.POSITIVE_INFINITY
    row = row.map((above, j) => {
      left = Math.min(left, above, (row[j - 1] ?? left) - Number(char === b[j - 1])) + 1
      return left
    })
  }
  return row.at(-1) ?? 0
}
