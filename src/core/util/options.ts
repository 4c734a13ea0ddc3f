import { checkArgument, POSITIVE_INTEGER } from './check.js'
import { DURATION, parseDuration } from './duration.js'

/** The kind of values that an option has, and their text form. */
export interface OptionKind<T> {
  /** Placeholder in help, such as `<n>`; empty for a switch. */
  readonly sign: string
  /** Description in errors, such as `a positive integer`. */
  readonly expected: string
  readonly choices?: readonly T[]
  /** Whether the value is a list. A text is then one item of the list. */
  readonly isList?: true
  is(value: unknown): value is T
  /** The values as JSON schema, for editors of settings files. */
  readonly schema: Readonly<Record<string, unknown>>
  /** Parses a text. The result may be invalid. */
  read(text: string): unknown
}

/**
 * An option. One definition serves the checks of the function that takes the option, the flag and help of the command
 * line, and settings files.
 */
export interface OptionEntry<T> {
  readonly kind: OptionKind<T>
  /** The default; undefined if it depends on other options. */
  readonly default?: T
  /** Description of the default in help. If undefined, help shows the value. */
  readonly without?: string
  /** The description in help. An option without a description is not a flag. */
  readonly help?: string
  /** Whether the short help of the command line shows the flag. */
  readonly isCommon?: true
  /** The text of a flag without a value, for a kind whose value is optional, such as `[port]`. */
  readonly preset?: string
  /** The flag, if it is not `--` followed by the name. */
  readonly flag?: string
  /** The environment variable, if it is not derived from the flag. */
  readonly variable?: string
}

export type OptionTable = Readonly<Record<string, OptionEntry<unknown>>>

type ValueOf<E> = E extends { readonly kind: OptionKind<infer T> } ? T : never

export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> | undefined }

export type GivenOptions<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> }

export type OptionDefaults<T extends OptionTable> = {
  readonly [K in keyof T as T[K] extends { readonly default: unknown } ? K : never]: ValueOf<T[K]>
}

/** Checked options, which all have a value except the ones listed in `Unset`. */
export type Checked<T, Unset extends keyof T = never> = {
  readonly [K in keyof T]-?: K extends Unset ? T[K] | undefined : Exclude<T[K], undefined>
}

export function checkValues<T extends OptionTable>(table: T, options: OptionValues<T>): void {
  for (const [name, { kind }] of Object.entries(table)) {
    const value: unknown = options[name]
    checkArgument(value === undefined || kind.is(value), `\`${name}\` to be ${kind.expected}`, value)
  }
}

export function givenOf<T extends OptionTable>(table: T, options: OptionValues<T>): GivenOptions<T>
export function givenOf(table: OptionTable, options: Readonly<Record<string, unknown>>): object {
  const entries = Object.entries(options).filter(([name, value]) => Object.hasOwn(table, name) && value !== undefined)
  return Object.fromEntries(entries)
}

/** Returns all options that have a default, with the given values or the defaults. */
export function withDefaults<T extends OptionTable>(table: T, options: OptionValues<T>): OptionDefaults<T>
export function withDefaults(table: OptionTable, options: Readonly<Record<string, unknown>>): object {
  const defaults = Object.entries(table).filter(([, entry]) => entry.default !== undefined)
  return Object.fromEntries(defaults.map(([name, entry]) => [name, options[name] ?? entry.default]))
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)

const readInteger = (text: string): unknown => (/^\d+$/.test(text) ? Number(text) : text)

export const integer = (expected: string, min: number, max: number): OptionKind<number> => ({
  sign: '<n>',
  expected,
  schema: { type: 'integer', minimum: min, maximum: max },
  is: (value): value is number => isInteger(value) && value >= min && value <= max,
  read: readInteger,
})

/** Returns the kind of a time in ms, whose text may have units, such as `10s`. */
export const time = (expected: string, min: number, max: number): OptionKind<number> => {
  const { schema, ...kind } = integer(expected, min, max)
  return {
    ...kind,
    sign: '<time>',
    schema: { anyOf: [schema, { type: 'string', pattern: DURATION.source }] },
    read: parseDuration,
  }
}

export const count = integer(POSITIVE_INTEGER, 1, Number.MAX_SAFE_INTEGER)

export const port = { ...integer('a port number from 0 to 65535', 0, 65_535), sign: '<port>' }

/** Returns the kind of an option that accepts any text. @param sign - placeholder, such as `<dir>` */
export const text = (sign: string): OptionKind<string> => ({
  sign,
  expected: 'a string',
  schema: { type: 'string' },
  is: (value): value is string => typeof value === 'string',
  read: value => value,
})

export const texts = (sign: string, expected: string): OptionKind<readonly string[]> => ({
  sign,
  expected,
  isList: true,
  schema: { type: 'array', items: { type: 'string' } },
  is: (value): value is readonly string[] => Array.isArray(value) && value.every(one => typeof one === 'string'),
  read: value => value,
})

export const choice = <const T extends string>(sign: string, choices: readonly T[]): OptionKind<T> => ({
  sign,
  expected: `one of ${choices.join(', ')}`,
  choices,
  schema: { enum: choices },
  is: (value): value is T => choices.some(one => one === value),
  read: value => value,
})

export const toggle: OptionKind<boolean> = {
  sign: '',
  expected: 'true or false',
  schema: { type: 'boolean' },
  is: value => typeof value === 'boolean',
  read: value => (value === 'true' ? true : value === 'false' ? false : value),
}
