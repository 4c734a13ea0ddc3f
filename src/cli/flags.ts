import { type Command, InvalidArgumentError, Option } from 'commander'
import { Hlc } from '../client/index.js'
import { parseDuration } from '../core/util/duration.js'
import { omitUndefined } from '../core/util/omit-undefined.js'
import type { GivenOptions, OptionEntry, OptionKind, OptionTable } from '../core/util/options.js'
import { EXIT, Failure } from './failure.js'
import { RareOption } from './help.js'

/** Flags of every command that connects to a store. */
export interface ConnectionFlags {
  readonly url?: string
  readonly clientId?: string
  readonly username?: string
  readonly password?: string
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly keyPasswordFile?: string
  readonly timeout?: number
  readonly json?: true
}

/** Flags of commands that can query a console. */
export interface ConsoleFlags {
  readonly console?: string
  readonly consoleTokenFile?: string
}

export interface ValueFlags {
  readonly hex?: true
  readonly file?: string
}

/** Environment variable that names the broker if no flag does. */
export const URL_VARIABLE = 'RX_STATESTORE_URL'
export const DEFAULT_URL = 'mqtt://127.0.0.1:1883'
/** Timeout of a request, including the time to connect, ms. */
export const DEFAULT_TIMEOUT = 5_000

const GROUP = 'Connection (default: from the environment):'

/** Descriptions of flags whose meaning depends on the command. */
interface ConnectionTexts {
  /** The default client id. */
  readonly clientId?: string
  /** The subject of the timeout. */
  readonly timeout?: string
}

/** Adds a connection's flags. The program has hidden copies of them, so that they can also precede the command. */
export function addConnectionFlags(
  command: Command,
  hidden: boolean,
  { clientId = 'a random one', timeout = 'a request, including connecting' }: ConnectionTexts = {},
): Command {
  const add = (flags: string, description: string, Kind: typeof Option = RareOption): Option => {
    const option = new Kind(flags, description).helpGroup(GROUP).hideHelp(hidden)
    command.addOption(option)
    return option
  }
  add(
    '--url <url>',
    `broker, mqtt(s):// or ws(s)://; repeat it for several addresses (else ${URL_VARIABLE}, AIO_BROKER_HOSTNAME, ${DEFAULT_URL})`,
    Option,
  ).argParser((url: string, before: string | undefined) => (before === undefined ? url : `${before},${url}`))
  add('--client-id <id>', `MQTT client id; must be unique at the broker (else ${clientId})`)
  add('--username <name>', 'user name')
  add('--password <text>', 'password; visible in the process list, unlike AIO_MQTT_PASSWORD_FILE')
  add('-T, --ca <file>', 'certificate authority, PEM')
  add('-C, --cert <file>', 'client certificate, PEM')
  add('-K, --key <file>', 'key of the client certificate, PEM')
  add('-P, --key-password-file <file>', 'passphrase of the key')
  add('--timeout <time>', `timeout of ${timeout}, such as 500ms, 10s, 1h30m, or a number of ms (5s)`).argParser(
    duration,
  )
  add('--json', 'one JSON object per line', Option).helpGroup('Options:')
  return command
}

/** Adds `--console` for commands that can use a console instead of a broker. */
export const addConsoleFlag = (command: Command): Command =>
  command.addOption(consoleOption().conflicts('url')).addOption(consoleTokenOption())

/** Adds `--console` for commands that can use a console in addition to a broker. */
export const addConsoleBeside = (command: Command): Command =>
  command.addOption(consoleOption()).addOption(consoleTokenOption())

const consoleTokenOption = (): Option =>
  new Option(
    '--console-token-file <file>',
    'file with the token of the console, as written by serve --console-token-file',
  )

const consoleOption = (): Option =>
  new Option('--console <url>', 'address of the console, including the token (else RX_STATESTORE_CONSOLE)')

/** Adds a flag for each option of a table that has a help text. */
export function addOptions(command: Command, table: OptionTable, group?: string): void {
  for (const [name, entry] of Object.entries(table)) {
    const { kind, help, isCommon, preset, without = entry.default } = entry
    if (help === undefined) continue
    const description = without === undefined ? help : `${help} (${without})`
    const Kind = isCommon ? Option : RareOption
    const option = new Kind(`${flagOf(name, entry)} ${kind.sign}`.trimEnd(), description)
    if (group !== undefined) option.helpGroup(group)
    if (kind.choices !== undefined) option.choices(kind.choices.map(String))
    else if (kind.sign !== '') option.argParser(parserOf(kind))
    if (preset !== undefined) option.preset(preset)
    command.addOption(option)
  }
}

/** Options of a command with the heading that `--help-all` shows above them. */
export interface OptionSection {
  readonly group?: string
  readonly table: OptionTable
}

export function addSections(command: Command, sections: readonly OptionSection[]): void {
  for (const { table, group } of sections) addOptions(command, table, group)
}

/** Returns the options of a table that are set by flags. */
export function optionsIn<T extends OptionTable>(table: T, flags: object): GivenOptions<T>
export function optionsIn(table: OptionTable, flags: object): object {
  const values = Object.entries(table).map(([name, entry]) => [name, Reflect.get(flags, attributeOf(name, entry))])
  return omitUndefined(Object.fromEntries(values))
}

export const flagOf = (name: string, { flag }: OptionEntry<unknown>): string =>
  flag ?? `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`

/** Returns the name under which commander stores the value. */
export const attributeOf = (name: string, entry: OptionEntry<unknown>): string =>
  flagOf(name, entry)
    .slice(2)
    .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())

/** Throws {@link Failure} if a flag of the table is set, because all of them require the flag `needed`. */
export function refuseOthers(table: OptionTable, flags: object, needed: string): void {
  const [name] = Object.keys(optionsIn(table, flags))
  const entry = name === undefined ? undefined : table[name]
  if (name !== undefined && entry !== undefined)
    throw new Failure(EXIT.usage, `${flagOf(name, entry)} requires ${needed}`)
}

/** Returns the parser of a flag. For a list, the values of repeated flags are collected. */
export function parserOf<T>(kind: OptionKind<T>) {
  return (text: string, before: unknown): unknown => {
    const item = kind.read(text)
    const value = kind.isList ? [...(Array.isArray(before) ? before : []), item] : item
    if (kind.is(value)) return value
    throw new InvalidArgumentError(`Expected ${kind.expected}.`)
  }
}

/** Adds the argument of a value, and the flags for a value in Base16 or in a file. */
export const addValue = (command: Command): Command =>
  command
    .argument('[value]', 'value, as text; - for standard input; after -- if it begins with -')
    .option('--hex', 'the value is Base16')
    .option('-f, --file <file>', 'read the value from a file, - for stdin')

/** Adds `--fencing-token`, and its former name `--ft`. */
export const addFencingToken = (command: Command): Command =>
  command.option('--ft, --fencing-token <version>', 'version of the lock that protects the key', fencingToken)

function fencingToken(text: string): Hlc {
  try {
    return Hlc.parse(text)
  } catch {
    throw new InvalidArgumentError('Expected a version such as 1696374425000:1:StateStore.')
  }
}

/** Returns a repeatable flag `--attribute name=value` that collects an object. */
export const attributeOption = (description: string): Option =>
  new Option('--attribute <name=value>', description).argParser(withAttribute).default({}, 'none')

function withAttribute(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Expected a name, `=` and a value.')
  return { ...before, [name]: value }
}

/** Parses a time of a flag. Returns a positive integer, ms. */
export function duration(text: string): number {
  const value = parseDuration(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new InvalidArgumentError('Expected a time, such as 500ms, 10s, 1h30m, or a positive integer of ms.')
}

/** Formats a time in its two largest units, such as `2h 5m`, `9s` or `40ms`. @param ms - negative values count as 0 */
export function inUnits(ms: number): string {
  const totalMs = Math.max(0, Math.round(ms))
  if (totalMs < 1_000) return `${totalMs}ms`
  const seconds = Math.round(totalMs / 1_000)
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}
