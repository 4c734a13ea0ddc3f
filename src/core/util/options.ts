import { POSITIVE_INTEGER } from './check.js'
import { ArgumentError, formatValue } from './errors.js'

/** What the value of an option may be, and how a text says it. */
export interface OptionKind<T> {
  /** What stands for a value in help, such as `<n>`; empty for an option that is on when it is named. */
  readonly sign: string
  /** In an error, such as `a positive integer`. */
  readonly expected: string
  /** All values, if there are few. */
  readonly choices?: readonly T[]
  /** Whether the value is a list, of which a text is one item. */
  readonly isList?: true
  is(value: unknown): value is T
  /** The value of a text, which may not be one. */
  read(text: string): unknown
}

/**
 * An option, written once: the function that takes it checks it by this, the command line has its flag and help from it, and
 * a settings file could be read by it.
 */
export interface OptionEntry<T> {
  readonly kind: OptionKind<T>
  /** Without it. Not there where that depends on something else. */
  readonly default?: T
  /** The same in words, for help; by default the value. */
  readonly without?: string
  /** What it is for. One without is no flag. */
  readonly help?: string
  /** Its flag, where that is not `--` and its name. */
  readonly flag?: string
}

/** The options of a function or a command by name. */
export type OptionTable = Readonly<Record<string, OptionEntry<unknown>>>

type ValueOf<E> = E extends { readonly kind: OptionKind<infer T> } ? T : never

/** Values of some of the options, and what may be undefined of them. */
export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> | undefined }

/** Values of some of the options. */
export type GivenOptions<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> }

/** Values of those that have a default. */
export type OptionDefaults<T extends OptionTable> = {
  readonly [K in keyof T as T[K] extends { readonly default: unknown } ? K : never]: ValueOf<T[K]>
}

/** Options after the check: each has a value, but for those named, which may be undefined. */
export type Checked<T, Unset extends keyof T = never> = {
  readonly [K in keyof T]-?: K extends Unset ? T[K] | undefined : Exclude<T[K], undefined>
}

/** Throws {@link ArgumentError} for a value that an option of the table may not have. */
export function checkValues<T extends OptionTable>(table: T, options: OptionValues<T>): void {
  for (const [name, { kind }] of Object.entries(table)) {
    const value: unknown = options[name]
    if (value === undefined || kind.is(value)) continue
    throw new ArgumentError(
      `Expected \`${name}\` to be ${kind.expected}, got \`${formatValue(value)}\` (${typeof value})`,
    )
  }
}

/** Those of the options that are in the table and have a value. */
export function givenOf<T extends OptionTable>(table: T, options: OptionValues<T>): GivenOptions<T>
export function givenOf(table: OptionTable, options: Readonly<Record<string, unknown>>): object {
  const known = Object.entries(options).filter(([name, value]) => Object.hasOwn(table, name) && value !== undefined)
  return Object.fromEntries(known)
}

/** Values of the options that have a default: those given, else that. */
export function withDefaults<T extends OptionTable>(table: T, options: OptionValues<T>): OptionDefaults<T>
export function withDefaults(table: OptionTable, options: Readonly<Record<string, unknown>>): object {
  const known = Object.entries(table).filter(([, entry]) => entry.default !== undefined)
  return Object.fromEntries(known.map(([name, entry]) => [name, options[name] ?? entry.default]))
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)

const readInteger = (text: string): unknown => (/^\d+$/.test(text) ? Number(text) : text)

/** A whole number within bounds. @param expected - in words */
export const integer = (expected: string, least: number, most: number): OptionKind<number> => ({
  sign: '<n>',
  expected,
  is: (value): value is number => isInteger(value) && value >= least && value <= most,
  read: readInteger,
})

/** A number of something. */
export const count = integer(POSITIVE_INTEGER, 1, Number.MAX_SAFE_INTEGER)

/** A TCP port. */
export const port = { ...integer('a port number from 0 to 65535', 0, 65_535), sign: '<port>' }

/** Any text. @param sign - of what, such as `<dir>` */
export const text = (sign: string): OptionKind<string> => ({
  sign,
  expected: 'a string',
  is: (value): value is string => typeof value === 'string',
  read: value => value,
})

/** A list of texts. @param sign - of one of them @param expected - in words */
export const texts = (sign: string, expected: string): OptionKind<readonly string[]> => ({
  sign,
  expected,
  isList: true,
  is: (value): value is readonly string[] => Array.isArray(value) && value.every(one => typeof one === 'string'),
  read: value => value,
})

/** One of a few words. */
export const choice = <const T extends string>(sign: string, choices: readonly T[]): OptionKind<T> => ({
  sign,
  expected: `one of ${choices.join(', ')}`,
  choices,
  is: (value): value is T => choices.some(one => one === value),
  read: value => value,
})

/** On or off; a flag puts it on. */
export const toggle: OptionKind<boolean> = {
  sign: '',
  expected: 'true or false',
  is: value => typeof value === 'boolean',
  read: value => value,
}
