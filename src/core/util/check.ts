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

/** Throws {@link ArgumentError} unless the value is an object that has these methods. */
export function checkHas(name: string, value: unknown, methods: readonly string[]): void {
  checkObject(name, value)
  const wrong = methods.find(method => typeof Reflect.get(Object(value), method) !== 'function')
  if (wrong !== undefined) throw new ArgumentError(`Expected \`${name}\` to have a method \`${wrong}\``)
}

/** Throws {@link ArgumentError} unless the value is `true` or `false`: text such as `'false'` would count as true. */
export function checkFlag(name: string, value: unknown): void {
  if (typeof value === 'boolean') return
  throw new ArgumentError(`Expected \`${name}\` to be true or false, got \`${shown(value)}\` (${typeof value})`)
}

/** Throws {@link ArgumentError} unless the value is one of the choices. */
export function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  throw new ArgumentError(`Expected \`${name}\` to be one of ${choices.join(', ')}, got \`${shown(value)}\``)
}
