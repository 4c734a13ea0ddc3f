import type { Glob } from '../../core/protocol/glob.js'
import { sameBytes, utf8 } from '../../core/util/bytes.js'
import type { KeyPattern, Policy, Principals } from './policy.js'
import { fill, type Subject } from './template.js'

export type Action =
  | { readonly type: 'connect' }
  | { readonly type: 'publish'; readonly topic: string }
  | { readonly type: 'subscribe'; readonly filter: string }
  | { readonly type: 'read' | 'write'; readonly key: Uint8Array }

/** The path of the rule that grants a right, such as `rules[0].stateStoreResources[1]`. */
export type Source = string

interface TopicRight {
  readonly source: Source
  readonly method: 'Publish' | 'Subscribe'
  readonly topics: readonly Levels[]
}

interface KeyRight {
  readonly source: Source
  readonly read: boolean
  readonly write: boolean
  readonly keys: readonly Glob[]
}

/** The rights of one client under a policy. Any action that no rule grants is denied. */
export class Rights {
  readonly #policy: Policy
  readonly #subject: Subject
  /** Computed lazily, because most clients use only a few of their rights. */
  #topics: readonly TopicRight[] | undefined
  #keys: readonly KeyRight[] | undefined
  #readable: Glob | undefined
  readonly #ruleIndexes: readonly number[]

  constructor(policy: Policy, subject: Subject) {
    this.#policy = policy
    this.#subject = subject
    this.#ruleIndexes = policy.rules.flatMap(({ principals }, index) => (appliesTo(principals, subject) ? index : []))
  }

  get ruleIndexes(): readonly number[] {
    return this.#ruleIndexes
  }

  allows(action: Action): boolean {
    return this.sourceOf(action) !== undefined
  }

  /** Returns the path of the first rule that permits the action, or `undefined` if no rule does. */
  sourceOf(action: Action): Source | undefined {
    switch (action.type) {
      case 'connect':
        return this.#connectSource()
      case 'publish':
        return this.#topicSource('Publish', action.topic)
      case 'subscribe':
        return this.#topicSource('Subscribe', action.filter)
      default:
        return this.#keyRights.find(
          right =>
            (action.type === 'read' ? right.read : right.write) && right.keys.some(glob => glob.matches(action.key)),
        )?.source
    }
  }

  get readable(): Glob {
    this.#readable ??= unionOf(this.#keyRights.filter(({ read }) => read).flatMap(({ keys }) => keys))
    return this.#readable
  }

  /**
   * Returns whether both permit reading the same patterns of keys. Different patterns that match the same keys count as
   * a difference.
   */
  canReadSamePatterns(other: Rights): boolean {
    const [own, others] = [this.#readablePatterns(), other.#readablePatterns()]
    return own.size === others.size && Array.from(own).every(pattern => others.has(pattern))
  }

  #readablePatterns(): ReadonlySet<string> {
    const resources = this.#ruleIndexes.flatMap(rule => this.#policy.rules[rule]?.stateStoreResources ?? [])
    const keys = resources.filter(({ method }) => method !== 'Write').flatMap(resource => resource.keys)
    return new Set(keys.flatMap(key => patternText(key, this.#subject) ?? []))
  }

  #connectSource(): Source | undefined {
    const clientId = utf8(this.#subject.clientId)
    for (const [source, resource] of this.#brokerResources()) {
      if (resource.method !== 'Connect') continue
      const globs = resource.clientIds
      if (globs === undefined || globs.some(glob => glob.for(this.#subject)?.matches(clientId))) return source
    }
    return undefined
  }

  #topicSource(method: TopicRight['method'], topic: string): Source | undefined {
    this.#topics ??= Array.from(this.#topicRights())
    const levels = topic.split('/')
    return this.#topics.find(right => right.method === method && right.topics.some(pattern => covers(pattern, levels)))
      ?.source
  }

  *#topicRights(): Iterable<TopicRight> {
    for (const [source, resource] of this.#brokerResources()) {
      if (resource.method === 'Connect') continue
      const topics = resource.topics.flatMap(topic => {
        const text = fill(topic, this.#subject)
        return text === undefined ? [] : [text.split('/')]
      })
      yield { source, method: resource.method, topics }
    }
  }

  get #keyRights(): readonly KeyRight[] {
    this.#keys ??= this.#ruleIndexes.flatMap(rule =>
      (this.#policy.rules[rule]?.stateStoreResources ?? []).map(({ method, keys }, index) => ({
        source: `rules[${rule}].stateStoreResources[${index}]`,
        read: method !== 'Write',
        write: method !== 'Read',
        keys: keys.flatMap(key => keyGlob(key, this.#subject) ?? []),
      })),
    )
    return this.#keys
  }

  *#brokerResources() {
    for (const rule of this.#ruleIndexes)
      for (const [index, resource] of (this.#policy.rules[rule]?.brokerResources ?? []).entries())
        yield [`rules[${rule}].brokerResources[${index}]`, resource] as const
  }
}

function appliesTo({ usernames, clientIds, attributes }: Principals, subject: Subject): boolean {
  if (subject.username !== undefined && usernames.includes(subject.username)) return true
  const actual = subject.attributes ?? {}
  return (
    clientIds.includes(subject.clientId) ||
    attributes.some(wanted =>
      Object.entries(wanted).every(([name, value]) => Object.hasOwn(actual, name) && actual[name] === value),
    )
  )
}

function keyGlob(key: KeyPattern, subject: Subject): Glob | undefined {
  if (key.type === 'Pattern') return key.glob.for(subject)
  const text = key.type === 'String' ? fill(key.text, subject) : undefined
  const bytes = key.type === 'Binary' ? key.bytes : text === undefined ? undefined : utf8(text)
  return bytes && { words: 1, matches: candidate => sameBytes(candidate, bytes) }
}

/** Returns a text that is equal only for equal patterns, or `undefined` if the client lacks a value. */
function patternText(key: KeyPattern, subject: Subject): string | undefined {
  if (key.type === 'Binary') return `Binary ${Buffer.from(key.bytes).toString('base64')}`
  const text = key.type === 'Pattern' ? key.glob.textFor(subject) : fill(key.text, subject)
  return text === undefined ? undefined : `${key.type} ${text}`
}

const unionOf = (globs: readonly Glob[]): Glob => ({
  words: globs.reduce((sum, { words }) => sum + words, 0),
  matches: key => globs.some(glob => glob.matches(key)),
})

export type Levels = readonly string[]

/**
 * Returns whether a pattern, itself a filter, matches every topic that the other filter matches (MQTT 5.0, section
 * 4.7). For a topic, which has no wildcards, this is a plain match.
 *
 * @example
 * ```ts
 * covers(['sensors', '#'], ['sensors', '+', 'on']) // true
 * covers(['sensors', '+'], ['sensors', '#']) // false
 * ```
 */
export function covers(pattern: Levels, filter: Levels): boolean {
  // A leading wildcard does not match topics that begin with `$` (section 4.7.2).
  if (filter[0]?.startsWith('$') && (pattern[0] === '#' || pattern[0] === '+')) return false
  for (let at = 0; ; at++) {
    const wanted = pattern[at]
    // `a/#` also matches `a` (section 4.7.1.2).
    if (wanted === '#') return true
    const level = filter[at]
    if (wanted === undefined || level === undefined) return wanted === level
    if (level === '#') return at === 0 && wanted === '+' && pattern[1] === '#'
    if (wanted !== '+' && wanted !== level) return false
  }
}
