import { LIMIT } from '../limits/limits.js'

interface Node<T> {
  items: Set<T> | undefined
  children: Map<string, Node<T>> | undefined
}

const emptyNode = <T>(): Node<T> => ({ items: undefined, children: undefined })

/**
 * Stores items by topic filter. Filters without wildcards, the most common kind, are looked up directly. For the
 * others, a lookup walks the levels of the topic along at most three branches each: the level itself, `+` and `#` (MQTT
 * 5.0, section 4.7).
 *
 * @example
 * ```ts
 * const trie = new FilterTrie<string>()
 * trie.add('a/+', 'x')
 * // Prints x.
 * trie.match('a/b', item => console.log(item))
 * ```
 */
export class FilterTrie<T> {
  readonly #exact = new Map<string, Set<T>>()
  readonly #root: Node<T> = emptyNode()

  get isEmpty(): boolean {
    return this.#exact.size === 0 && this.#root.children === undefined
  }

  add(filter: string, item: T): void {
    if (isExact(filter)) {
      const items = this.#exact.get(filter)
      if (items) items.add(item)
      else this.#exact.set(filter, new Set([item]))
      return
    }
    let node = this.#root
    for (const level of levelKeysOf(filter)) {
      node.children ??= new Map()
      const child = node.children.get(level) ?? emptyNode()
      node.children.set(level, child)
      node = child
    }
    node.items ??= new Set()
    node.items.add(item)
  }

  remove(filter: string, item: T): void {
    if (isExact(filter)) {
      const items = this.#exact.get(filter)
      items?.delete(item)
      if (items?.size === 0) this.#exact.delete(filter)
      return
    }
    const levels = levelKeysOf(filter)
    const path: Node<T>[] = [this.#root]
    for (const level of levels) {
      const next = path.at(-1)?.children?.get(level)
      if (next === undefined) return
      path.push(next)
    }
    const last = path.at(-1)
    last?.items?.delete(item)
    if (last?.items?.size === 0) last.items = undefined
    prune(path, levels)
  }

  /** Visits the items of each matching filter. An item with several matching filters is visited several times. */
  match(topic: string, visit: (item: T) => void): void {
    for (const items of this.matches(topic)) items.forEach(visit)
  }

  matches(topic: string): ReadonlySet<T>[] {
    const found: Set<T>[] = []
    const exact = topic.length <= MAX_HASHED_LENGTH ? this.#exact.get(topic) : undefined
    if (exact) found.push(exact)
    // Leading wildcards do not match topics that start with `$` (MQTT 5.0, section 4.7.2).
    if (this.#root.children) collectMatches(this.#root, levelKeysOf(topic), 0, !topic.startsWith('$'), found)
    return found
  }
}

const isExact = (filter: string): boolean =>
  filter.length <= MAX_HASHED_LENGTH && !filter.includes('+') && !filter.includes('#')

function collectMatches<T>(
  node: Node<T>,
  levels: readonly string[],
  at: number,
  allowsWildcard: boolean,
  found: Set<T>[],
): void {
  const { items, children } = node
  const isAtEnd = at === levels.length
  if (isAtEnd && items) found.push(items)
  if (children === undefined) return
  // `a/#` also matches `a`.
  const multiLevel = allowsWildcard ? children.get('#')?.items : undefined
  if (multiLevel) found.push(multiLevel)
  if (isAtEnd) return
  const level = levels[at] ?? ''
  const literal = children.get(level)
  // A topic never contains wildcards, so this level cannot be `+` or `#`.
  if (literal !== undefined) collectMatches(literal, levels, at + 1, true, found)
  const wildcard = allowsWildcard ? children.get('+') : undefined
  if (wildcard === undefined) return
  let next = at + 1
  while (isContinuation(levels[next])) next++
  collectMatches(wildcard, levels, next, true, found)
}

function prune<T>(path: Node<T>[], levels: readonly string[]): void {
  for (let depth = levels.length; depth > 0; depth--) {
    const node = path[depth]
    const parent = path[depth - 1]
    if (node === undefined || parent === undefined || node.items !== undefined || node.children !== undefined) return
    parent.children?.delete(levels[depth - 1] ?? '')
    if (parent.children?.size === 0) parent.children = undefined
  }
}

/**
 * The maximum length in UTF-16 units of a `Map` key. V8 hashes longer strings by their length only, so an attacker
 * could force collisions.
 */
export const MAX_HASHED_LENGTH = 16_383
/** A prefix that marks a continuation unambiguously, because it never occurs in a topic (MQTT 5.0, section 1.5.4). */
const CONTINUATION = '\0'

/**
 * Splits a topic or filter into `Map` keys, one per level (MQTT 5.0, section 4.7.1.1) and several for a very long
 * level.
 */
export function levelKeysOf(topic: string): string[] {
  const levels = topic.split('/')
  return topic.length <= MAX_HASHED_LENGTH ? levels : levels.flatMap(keysOf)
}

function keysOf(level: string): string[] {
  if (level.length <= MAX_HASHED_LENGTH) return [level]
  const keys = [level.slice(0, MAX_HASHED_LENGTH)]
  for (let at = MAX_HASHED_LENGTH; at < level.length; at += MAX_HASHED_LENGTH - 1)
    keys.push(CONTINUATION + level.slice(at, at + MAX_HASHED_LENGTH - 1))
  return keys
}

/** Returns whether a key continues the previous level, so that a wildcard covers both. */
export const isContinuation = (key: string | undefined): boolean => key?.startsWith(CONTINUATION) ?? false

export const isTooDeep = (topic: string): boolean =>
  topic.length >= LIMIT.topicLevels && topic.split('/', LIMIT.topicLevels + 1).length > LIMIT.topicLevels

/**
 * Returns whether a filter matches a topic (MQTT 5.0, section 4.7). Allocates no arrays, because this function is
 * called for every delivery.
 */
export function matchesFilter(filter: string, topic: string): boolean {
  if (filter === topic) return true
  // Leading wildcards do not match topics that start with `$` (MQTT 5.0, section 4.7.2).
  if (topic.startsWith('$') && (filter.startsWith('#') || filter.startsWith('+'))) return false
  let topicStart = 0
  let filterStart = 0
  for (;;) {
    if (filter[filterStart] === '#') return true
    const topicEnd = endOfLevel(topic, topicStart)
    const filterEnd = endOfLevel(filter, filterStart)
    if (filter[filterStart] === '+') topicStart = topicEnd
    else if (
      filterEnd - filterStart === topicEnd - topicStart &&
      topic.startsWith(filter.slice(filterStart, filterEnd), topicStart)
    )
      topicStart = topicEnd
    else return false
    // `a/#` also matches `a` (section 4.7.1.2).
    if (topicStart === topic.length) return filterEnd === filter.length || filter.slice(filterEnd) === '/#'
    if (filterEnd === filter.length) return false
    topicStart++
    filterStart = filterEnd + 1
  }
}

function endOfLevel(text: string, from: number): number {
  const end = text.indexOf('/', from)
  return end < 0 ? text.length : end
}
