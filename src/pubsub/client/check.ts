import { isWellFormed } from '../../bytes.js'
import { checkObject } from '../../check.js'
import { ArgumentError, shown } from '../../errors.js'

/** Web PubSub takes group names of at most so many characters. */
const LONGEST_NAME = 1024

/** Throws {@link ArgumentError} for what cannot name a group or an event. */
export function checkName(what: string, name: string): void {
  if (typeof name === 'string' && name.trim() !== '' && name.length <= LONGEST_NAME && isWellFormed(name)) return
  const got = shown(name).slice(0, 80)
  throw new ArgumentError(`Expected the name of ${what}, 1 to ${LONGEST_NAME} characters, got \`${got}\``)
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
