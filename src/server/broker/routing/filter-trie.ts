import { LIMIT } from '../limits/limits.js'

interface Node<T> {
  /** Of filters that end here. */
  items: Set<T> | undefined
  children: Map<string, Node<T>> | undefined
}

const emptyNode = <T>(): Node<T> => ({ items: undefined, children: undefined })

/**
 * Items under topic filters. Filters without wildcards are looked up at once, as most are of that kind. Which of the others
 * match a topic is found by walking down its levels, on each through at most three branches: the level itself, `+` and `#`
 * (MQTT 5.0, section 4.7); filters that share nothing with the topic are never looked at.
 *
 * @example
 * ```ts
 * const trie = new FilterTrie<string>()
 * trie.add('a/+', 'x')
 * trie.match('a/b', item => console.log(item))   // x
 * ```
 */
export class FilterTrie<T> {
  readonly #plain = new Map<string, Set<T>>()
  readonly #root: Node<T> = emptyNode()

  get empty(): boolean {
    return this.#plain.size === 0 && this.#root.children === undefined
  }

  add(filter: string, item: T): void {
    if (isPlain(filter)) {
      const items = this.#plain.get(filter)
      if (items) items.add(item)
      else this.#plain.set(filter, new Set([item]))
      return
    }
    let node = this.#root
    for (const level of levelsOf(filter)) {
      node.children ??= new Map()
      const child = node.children.get(level) ?? emptyNode()
      node.children.set(level, child)
      node = child
    }
    node.items ??= new Set()
    node.items.add(item)
  }

  /** Removes an item, and the branches that nothing is under any more. */
  remove(filter: string, item: T): void {
    if (isPlain(filter)) {
      const items = this.#plain.get(filter)
      items?.delete(item)
      if (items?.size === 0) this.#plain.delete(filter)
      return
    }
    const levels = levelsOf(filter)
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

  /** Calls with each item of each filter that matches; an item may be under several. */
  match(topic: string, visit: (item: T) => void): void {
    for (const items of this.matches(topic)) items.forEach(visit)
  }

  /** The items of each filter that matches. */
  matches(topic: string): ReadonlySet<T>[] {
    const found: Set<T>[] = []
    const plain = topic.length <= LONGEST_HASHED ? this.#plain.get(topic) : undefined
    if (plain) found.push(plain)
    // Wildcards at the start do not stand for what is of the server (MQTT 5.0, section 4.7.2).
    if (this.#root.children) walk(this.#root, levelsOf(topic), 0, !topic.startsWith('$'), found)
    return found
  }
}

const isPlain = (filter: string): boolean =>
  filter.length <= LONGEST_HASHED && !filter.includes('+') && !filter.includes('#')

function walk<T>(node: Node<T>, levels: readonly string[], at: number, wild: boolean, found: Set<T>[]): void {
  const { items, children } = node
  const ended = at === levels.length
  if (ended && items) found.push(items)
  if (children === undefined) return
  // `a/#` matches `a`, too.
  const rest = wild ? children.get('#')?.items : undefined
  if (rest) found.push(rest)
  if (ended) return
  const level = levels[at] ?? ''
  const same = children.get(level)
  // Wildcards are not names: no topic has them.
  if (same !== undefined) walk(same, levels, at + 1, true, found)
  const any = wild ? children.get('+') : undefined
  if (any === undefined) return
  let next = at + 1
  while (isContinued(levels[next])) next++
  walk(any, levels, next, true, found)
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

/** V8 hashes longer texts by their length alone, so that an attacker could have all of them meet in one place of a `Map`; UTF-16 units. */
export const LONGEST_HASHED = 16_383
/** Comes in no topic (MQTT 5.0, section 1.5.4), so that a continued level is none of its own. */
const CONTINUED = '\0'

/**
 * The levels of a topic or filter (MQTT 5.0, section 4.7.1.1) as keys of a `Map`; a level that is too long for one key
 * has several.
 */
export function levelsOf(topic: string): string[] {
  const levels = topic.split('/')
  return topic.length <= LONGEST_HASHED ? levels : levels.flatMap(keysOf)
}

function keysOf(level: string): string[] {
  if (level.length <= LONGEST_HASHED) return [level]
  const keys = [level.slice(0, LONGEST_HASHED)]
  for (let at = LONGEST_HASHED; at < level.length; at += LONGEST_HASHED - 1)
    keys.push(CONTINUED + level.slice(at, at + LONGEST_HASHED - 1))
  return keys
}

/** Whether a key goes on with the level of the one before, so that a wildcard for that one stands for this, too. */
export const isContinued = (key: string | undefined): boolean => key?.startsWith(CONTINUED) ?? false

/** Whether a topic or filter has more levels than there may be. */
export const isTooDeep = (topic: string): boolean =>
  topic.length >= LIMIT.topicLevels && topic.split('/', LIMIT.topicLevels + 1).length > LIMIT.topicLevels

/**
 * Whether a topic filter with `+` and `#` matches a topic (MQTT 5.0, section 4.7). Every delivery is compared with every
 * subscription of its receiver, so nothing is taken apart for it.
 */
export function matchesFilter(filter: string, topic: string): boolean {
  if (filter === topic) return true
  // A wildcard at the start does not match topics of the broker itself (section 4.7.2).
  if (topic.startsWith('$') && (filter.startsWith('#') || filter.startsWith('+'))) return false
  let at = 0
  let from = 0
  for (;;) {
    if (filter[from] === '#') return true
    const to = endOfLevel(topic, at)
    const until = endOfLevel(filter, from)
    if (filter[from] === '+') at = to
    else if (until - from === to - at && topic.startsWith(filter.slice(from, until), at)) at = to
    else return false
    // `a/#` matches `a` as well (section 4.7.1.2).
    if (at === topic.length) return until === filter.length || filter.slice(until) === '/#'
    if (until === filter.length) return false
    at++
    from = until + 1
  }
}

function endOfLevel(text: string, from: number): number {
  const end = text.indexOf('/', from)
  return end < 0 ? text.length : end
}
