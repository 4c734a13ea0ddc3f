import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { escapeGlob } from '../keys/scan.js'

/** Maps topics to keys, one to one. */
export interface Pattern {
  readonly filter: string
  /** Matches all keys, and possibly others. */
  readonly glob: string
  /** Returns `undefined` for topics without a key. */
  toKey(topic: string): string | undefined
  /** Returns `undefined` for keys without a topic. Brokers may reject the topic. */
  toTopic(key: string): string | undefined
}

/** Topics of the broker and of the store's protocol. */
const OF_THE_STORE = /^(\$|statestore\/v1\/|rx-statestore\/|clients\/[^/]*\/services\/statestore\/)/
/** MQTT 5.0, section 4.7.1. */
const NOT_IN_TOPICS = /[+#\0]/
const LEVEL = '([^/]*)'
const REST = '([^]*)'
const PLACEHOLDER = /\{(\d+|#)\}/

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/**
 * Creates a pattern from a topic filter and a key with numbered placeholders, `{1}` for the first `+`, and `{#}`.
 * Throws {@link ArgumentError} if two topics could share a key, or two keys a topic.
 */
export function patternOf(filter: string, key: string): Pattern {
  const wildcards = wildcardsOf(filter)
  const parts = partsOf(key, wildcards)
  const topics = new RegExp(`^${filter.split('/').map(regExpOfLevel).join('\\/')}$`, 'u')
  const keys = new RegExp(`^${parts.map(part => part.text ?? (part.name === '#' ? REST : LEVEL)).join('')}$`, 'u')
  const names = parts.flatMap(({ name }) => name ?? [])
  return {
    filter,
    glob: parts.map(({ literal }) => (literal === undefined ? '*' : escapeGlob(literal))).join(''),
    toKey(topic) {
      const found = OF_THE_STORE.test(topic) ? null : topics.exec(topic)
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
      return OF_THE_STORE.test(name) ? undefined : name
    },
  }
}

function wildcardsOf(filter: string): string[] {
  const levels = typeof filter === 'string' ? filter.split('/') : []
  const isRight = levels.every((level, at) => !NOT_IN_TOPICS.test(level) || isWildcard(level, at === levels.length - 1))
  if (!filter || !isRight)
    throw new ArgumentError(
      `Expected \`topic\` to be a topic filter such as plant/+/temp or plant/#, got \`${formatValue(filter)}\``,
    )
  if (OF_THE_STORE.test(filter))
    throw new ArgumentError(`Expected \`topic\` to match only your own topics, got \`${filter}\``)
  let plus = 0
  return levels.flatMap(level => (level === '+' ? String(++plus) : level === '#' ? '#' : []))
}

const isWildcard = (level: string, isLast: boolean): boolean => level === '+' || (level === '#' && isLast)

interface Part {
  readonly name?: string
  readonly literal?: string
  readonly text?: string
}

function partsOf(key: string, wildcards: readonly string[]): Part[] {
  if (typeof key !== 'string' || key === '')
    throw new ArgumentError(`Expected \`keys\` to be a text, got \`${formatValue(key)}\``)
  const pieces = key.split(PLACEHOLDER)
  const names = pieces.filter((_, at) => at % 2 === 1)
  const isRight = names.length === wildcards.length && wildcards.every(name => names.includes(name))
  if (!isRight) {
    const wanted = wildcards.map(name => `{${name}}`).join(', ')
    throw new ArgumentError(
      `Expected \`keys\` to contain ${wanted === '' ? 'no placeholders' : `each of ${wanted} once`}, ` +
        `matching the wildcards of \`topic\`, got \`${key}\``,
    )
  }
  // Levels contain no slash, so a slash between placeholders keeps keys unambiguous.
  if (pieces.some((piece, at) => at % 2 === 0 && at > 0 && at < pieces.length - 1 && !piece.includes('/')))
    throw new ArgumentError(`Expected \`keys\` to have a / between two placeholders, got \`${key}\``)
  return pieces.flatMap((piece, at) => {
    if (at % 2 === 1) return { name: piece }
    return piece === '' ? [] : { literal: piece, text: quoted(piece) }
  })
}

const regExpOfLevel = (level: string): string => (level === '+' ? LEVEL : level === '#' ? REST : quoted(level))
