import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { nearestName } from '../core/util/check.js'
import { formatValue, reason } from '../core/util/errors.js'
import type { OptionEntry } from '../core/util/options.js'
import type { Environment } from '../node/environment.js'
import { YamlFile, type YamlNode } from '../server/access/yaml-file.js'
import { withoutCredentials } from './credentials.js'
import { EXIT, Failure } from './failure.js'
import { attributeOf, flagOf, type OptionSection, URL_VARIABLE } from './flags.js'
import { RareOption } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'

/** Flags of commands with a settings file. */
export interface ConfigFlags {
  readonly config?: string
  readonly checkConfig?: true
}

const PREFIX = 'RX_STATESTORE_'
const CONFIG_VARIABLE = `${PREFIX}CONFIG`
/** Variables with the prefix that are not options of a store. */
const OTHER_VARIABLES = [CONFIG_VARIABLE, URL_VARIABLE, `${PREFIX}CONSOLE`, `${PREFIX}LOCK`, `${PREFIX}FENCING_TOKEN`]
const MAX_SHOWN_LENGTH = 60
const DEFAULT = 'default'
const FROM_KUBERNETES =
  '; Kubernetes sets this variable for a service of this name: set `enableServiceLinks: false` in the pod'

/** An option in the settings file and in the environment. */
export interface Setting {
  /** The name in the file, which is the flag without `--`. */
  readonly name: string
  readonly variable: string
  /** The name under which Commander stores the value. */
  readonly attribute: string
  readonly entry: OptionEntry<unknown>
}

/** A value with its origin: a flag, a variable, a file or `default`. */
export interface EffectiveSetting {
  readonly name: string
  readonly value: unknown
  readonly origin: string
}

export const settingsOf = (sections: readonly OptionSection[]): readonly Setting[] =>
  sections
    .flatMap(({ table }) => Object.entries(table))
    .filter(([, { help }]) => help !== undefined)
    .map(([key, entry]) => {
      const name = flagOf(key, entry).slice(2)
      const { variable = PREFIX + name.toUpperCase().replaceAll('-', '_') } = entry
      return { name, variable, attribute: attributeOf(key, entry), entry }
    })

/** The options of a command from flags, the environment and a settings file, in this order of precedence. */
export class Config<F extends ConfigFlags> {
  readonly flags: F
  /** The options with their origins, in the order of the table. Secrets in addresses are hidden. */
  readonly effective: readonly EffectiveSetting[]

  /** Throws {@link Failure} for an unknown name or an invalid value, with the line in the file. */
  constructor(sections: readonly OptionSection[], given: F, env: Environment) {
    const settings = settingsOf(sections)
    const path = given.config ?? (env[CONFIG_VARIABLE] || undefined)
    const inFile = path === undefined ? new Map<string, unknown>() : readSettings(path, settings)
    const inEnvironment = variablesIn(env, settings)
    const merged = { ...Object.fromEntries(inFile), ...Object.fromEntries(inEnvironment), ...given }
    // A switch that is off counts as not given.
    for (const [attribute, value] of Object.entries(merged))
      if (value === false) Reflect.deleteProperty(merged, attribute)
    this.flags = merged
    this.effective = settings.flatMap(({ name, variable, attribute, entry }) => {
      const value: unknown = Reflect.get(merged, attribute)
      if (value === undefined)
        return entry.default === undefined ? [] : [{ name, value: entry.default, origin: DEFAULT }]
      const isFlag = Reflect.get(given, attribute) !== undefined
      const origin = isFlag ? `--${name}` : inEnvironment.has(attribute) ? variable : (path ?? '')
      return [{ name, value: withoutSecrets(value), origin }]
    })
  }
}

/** Adds `--config` and `--check-config`. */
export function addConfigFlags(command: Command): void {
  command.option('--config <file>', `settings file, YAML (else ${CONFIG_VARIABLE})`)
  command.addOption(new RareOption('--check-config', 'check all options and files, print the options, and exit'))
}

/** Prints effective options as a settings file. A comment names each option's origin, and defaults are comments. */
export async function printConfig(
  effective: readonly EffectiveSetting[],
  { json }: { readonly json?: true },
  io: Io,
): Promise<void> {
  const values = Object.fromEntries(effective.map(({ name, value }) => [name, value]))
  await print(io.stdout, json ? jsonLine(values) : configWords(effective))
}

const configWords = (effective: readonly EffectiveSetting[]): string => {
  const lines = effective.map(({ name, value, origin }) => ({
    text: `${origin === DEFAULT ? '# ' : ''}${name}: ${JSON.stringify(value)}`,
    origin,
  }))
  const width = lines.reduce((widest, { text }) => Math.max(widest, text.length), 0)
  return lines.map(({ text, origin }) => `${text.padEnd(width)}  # ${origin}\n`).join('')
}

function readSettings(path: string, settings: readonly Setting[]): ReadonlyMap<string, unknown> {
  try {
    const { root } = new YamlFile(readFileSync(path, 'utf8'))
    const entries = root.value === null ? [] : Array.from(root.entries())
    return new Map(entries.flatMap(([name, node]) => valueIn(name, node, settings)))
  } catch (cause) {
    throw new Failure(EXIT.usage, `${path}: ${reason(cause)}`, { cause })
  }
}

function valueIn(name: string, node: YamlNode, settings: readonly Setting[]): readonly [string, unknown][] {
  const setting = settings.find(candidate => candidate.name === name)
  if (setting === undefined) {
    const hint = suggestion(
      name,
      settings.map(candidate => candidate.name),
    )
    throw node.error(`unknown option \`${name.slice(0, MAX_SHOWN_LENGTH)}\`${hint}`)
  }
  const value = settingValue(node.value, setting.entry)
  if (value === INVALID) throw node.error(mismatch(node.value, setting.entry))
  return [[setting.attribute, value]]
}

function variablesIn(env: Environment, settings: readonly Setting[]): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  const names = settings.map(({ variable }) => variable)
  for (const [name, text = ''] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || text === '') continue
    const setting = settings.find(({ variable }) => variable === name)
    if (setting === undefined) {
      // Other names are ignored, because Kubernetes sets variables for services whose names begin with rx-statestore.
      const isForeign = OTHER_VARIABLES.includes(name) || isServiceLink(name, text)
      const hint = isForeign ? '' : suggestion(name, names)
      if (hint !== '') throw new Failure(EXIT.usage, `unknown variable ${name}${hint}`)
      continue
    }
    const { attribute, entry } = setting
    const items = entry.kind.isList ? text.split(',').map(item => entry.kind.read(item.trim())) : text
    const value = settingValue(items, entry)
    if (value === INVALID)
      throw new Failure(
        EXIT.usage,
        `${name}: ${mismatch(text, entry)}${text.startsWith('tcp://') ? FROM_KUBERNETES : ''}`,
      )
    found.set(attribute, value)
  }
  return found
}

/** Returns whether Kubernetes set the variable, as RX_STATESTORE_TLS_PORT for a service named rx-statestore-tls. */
const isServiceLink = (name: string, text: string): boolean =>
  /_PORT(_\d+_(TCP|UDP|SCTP))?$/.test(name) && /^(tcp|udp|sctp):\/\//.test(text)

const INVALID = Symbol('invalid')

function settingValue(given: unknown, { kind, preset }: OptionEntry<unknown>): unknown {
  const value = typeof given === 'string' && !kind.isList ? kind.read(given) : given
  const isOptional = kind.sign.startsWith('[')
  if (isOptional && (value === false || value === 'false')) return false
  if (preset !== undefined && (value === true || value === 'true')) return kind.read(preset)
  return kind.is(value) ? value : INVALID
}

const mismatch = (given: unknown, { kind }: OptionEntry<unknown>): string =>
  `Expected ${kind.expected}, got \`${withoutCredentials(formatValue(given)).slice(0, MAX_SHOWN_LENGTH)}\``

function suggestion(name: string, names: readonly string[]): string {
  const found = nearestName(name, names)
  return found === undefined ? '' : ` (did you mean ${found}?)`
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  return typeof value === 'string' ? withoutCredentials(value) : value
}
