import { checkArgument } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import { escapeGlob } from '../keys/scan.js'

export interface Pattern {
  readonly filter: string
  /** Matches all keys of the pattern, and possibly others. */
  readonly glob: string
  /** Returns the key of a topic, or `undefined` for a topic without a key. */
  toKey(topic: string): string | undefined
  /** Returns a key's topic, or `undefined` for a key without a topic. Brokers may reject the topic. */
  toTopic(key: string): string | undefined
}

/** Topics of the broker and of the store's protocol. */
const RESERVED_TOPICS = /^(\$|statestore\/v1\/|rx-statestore\/|clients\/[^/]*\/services\/statestore\/)/
/** Characters that a published topic must not contain (MQTT 5.0, section 4.7.1). */
const FORBIDDEN_CHARACTERS = /[+#\0]/
const LEVEL_PATTERN = '([^/]*)'
const REST_PATTERN = '([^]*)'
const PLACEHOLDER = /\{(\d+|#)\}/

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/**
 * Creates a pattern from a topic filter and a key with numbered placeholders, `{1}` for the first `+`, and `{#}`.
 * Throws {@link ArgumentError} if two topics could share a key, or two keys a topic.
 */
export function parsePattern(filter: string, key: string): Pattern {
  const wildcards = parseWildcards(filter)
  const parts = parseParts(key, wildcards)
  const topics = new RegExp(`^${filter.split('/').map(levelToRegExp).join('\\/')}$`, 'u')
  const keys = new RegExp(
    `^${parts.map(part => part.pattern ?? (part.name === '#' ? REST_PATTERN : LEVEL_PATTERN)).join('')}$`,
    'u',
  )
  const names = parts.flatMap(({ name }) => name ?? [])
  return {
    filter,
    glob: parts.map(({ literal }) => (literal === undefined ? '*' : escapeGlob(literal))).join(''),
    toKey(topic) {
      const found = RESERVED_TOPICS.test(topic) ? null : topics.exec(topic)
      if (found === null) return undefined
      return parts.map(({ name, literal }) => literal ?? found[1 + wildcards.indexOf(name ?? '')]).join('')
    },
    toTopic(text) {
      const found = keys.exec(text)
      if (found === null) return undefined
      const values = wildcards.map(name => found[1 + names.indexOf(name)] ?? '')
      let next = 0
      const topic = filter.split('/').map(level => (level === '+' || level === '#' ? values[next++] : level))
      const name = topic.join('/')
      return RESERVED_TOPICS.test(name) ? undefined : name
    },
  }
}

function parseWildcards(filter: string): string[] {
  const levels = typeof filter === 'string' ? filter.split('/') : []
  const isValid = levels.every(
    (level, at) => !FORBIDDEN_CHARACTERS.test(level) || isWildcard(level, at === levels.length - 1),
  )
  checkArgument(Boolean(filter) && isValid, '`topic` to be a topic filter such as plant/+/temp or plant/#', filter)
  checkArgument(!RESERVED_TOPICS.test(filter), '`topic` to match only your own topics', filter)
  let plus = 0
  return levels.flatMap(level => (level === '+' ? String(++plus) : level === '#' ? '#' : []))
}

const isWildcard = (level: string, isLast: boolean): boolean => level === '+' || (level === '#' && isLast)

interface Part {
  readonly name?: string
  readonly literal?: string
  readonly pattern?: string
}

function parseParts(key: string, wildcards: readonly string[]): Part[] {
  checkArgument(typeof key === 'string' && key !== '', '`keys` to be a text', key)
  const pieces = key.split(PLACEHOLDER)
  const names = pieces.filter((_, at) => at % 2 === 1)
  const isValid = names.length === wildcards.length && wildcards.every(name => names.includes(name))
  if (!isValid) {
    const expected = wildcards.map(name => `{${name}}`).join(', ')
    throw new ArgumentError(
      `Expected \`keys\` to contain ${expected === '' ? 'no placeholders' : `each of ${expected} once`}, ` +
        `matching the wildcards of \`topic\`, got \`${key}\``,
    )
  }
  // Levels contain no slash, so a slash between placeholders keeps keys unambiguous.
  checkArgument(
    !pieces.some((piece, at) => at % 2 === 0 && at > 0 && at < pieces.length - 1 && !piece.includes('/')),
    '`keys` to have a / between two placeholders',
    key,
  )
  return pieces.flatMap((piece, at) => {
    if (at % 2 === 1) return { name: piece }
    return piece === '' ? [] : { literal: piece, pattern: escapeRegExp(piece) }
  })
}

const levelToRegExp = (level: string): string =>
  level === '+' ? LEVEL_PATTERN : level === '#' ? REST_PATTERN : escapeRegExp(level)
