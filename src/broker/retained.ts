import type { Budget } from './budget.js'
import { type Message, sizeOf } from './delivery.js'
import { LONGEST_HASHED } from './levels.js'
import { LEVEL_SIZE, LIMIT } from './limits.js'

interface Node {
  message: Message | undefined
  children: Map<string, Node> | undefined
}

/** ms */
const SWEEP_INTERVAL = 10_000

/** The last message of each topic that was published to be kept (MQTT 5.0, section 3.3.1.3). */
export class Retained {
  readonly #budget: Budget
  readonly #root: Node = { message: undefined, children: undefined }
  #count = 0
  #bytes = 0
  /** When it was looked through last, ms. */
  #swept = Number.NEGATIVE_INFINITY

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** Number of messages. */
  get count(): number {
    return this.#count
  }

  /**
   * Keeps a message in place of the one before; returns whether there is room for it.
   *
   * @param now - ms of the monotonic clock
   */
  set(message: Message, now: number): boolean {
    if (this.#count >= LIMIT.retainedMessages || this.#bytes >= LIMIT.retainedBytes) this.#sweep(now)
    const levels = message.topic.split('/')
    const before = this.#find(levels)
    const more = retainedSize(message) - (before ? retainedSize(before) : 0)
    if (message.topic.length > LONGEST_HASHED) return false
    if (before === undefined && this.#count >= LIMIT.retainedMessages) return false
    if (more > 0 && (this.#bytes + more > LIMIT.retainedBytes || !this.#budget.take(more))) return false
    if (more <= 0) this.#budget.count(more)
    if (before === undefined) this.#count++
    this.#bytes += more
    this.#make(levels).message = message
    return true
  }

  /** Forgets the message of a topic. */
  delete(topic: string): void {
    const levels = topic.split('/')
    const path: Node[] = [this.#root]
    for (const level of levels) {
      const child = path.at(-1)?.children?.get(level)
      if (child === undefined) return
      path.push(child)
    }
    const last = path.at(-1)
    if (last?.message === undefined) return
    const bytes = retainedSize(last.message)
    this.#count--
    this.#bytes -= bytes
    this.#budget.give(bytes)
    last.message = undefined
    prune(path, levels)
  }

  /**
   * The messages whose topics a filter matches; what is over its time is forgotten.
   *
   * @param now - ms of the monotonic clock
   */
  match(filter: string, now: number): Message[] {
    const hits: Message[] = []
    collect(this.#root, filter.split('/'), 0, hits)
    const live = hits.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
    if (live.length < hits.length) {
      for (const { topic, expiresAt } of hits) if (expiresAt !== undefined && expiresAt <= now) this.delete(topic)
    }
    return live
  }

  /** Forgets all that is over its time; not too often, as it looks at everything. */
  #sweep(now: number): void {
    if (now < this.#swept + SWEEP_INTERVAL) return
    this.#swept = now
    this.match('#', now)
  }

  #find(levels: readonly string[]): Message | undefined {
    let node: Node | undefined = this.#root
    for (const level of levels) node = node?.children?.get(level)
    return node?.message
  }

  #make(levels: readonly string[]): Node {
    let node = this.#root
    for (const level of levels) {
      node.children ??= new Map()
      const child = node.children.get(level) ?? { message: undefined, children: undefined }
      node.children.set(level, child)
      node = child
    }
    return node
  }
}

/** What a message counts while it is retained, bytes: with the branches it lies on, of which it may share none. */
export const retainedSize = (message: Message): number => sizeOf(message) + LEVEL_SIZE * message.topic.split('/').length

function collect(node: Node, filter: readonly string[], at: number, hits: Message[]): void {
  const level = filter[at]
  if (level === undefined) {
    if (node.message) hits.push(node.message)
    return
  }
  if (level === '#') {
    collectAll(node, at === 0, hits)
    return
  }
  if (level !== '+') {
    const child = node.children?.get(level)
    if (child) collect(child, filter, at + 1, hits)
    return
  }
  for (const [name, child] of node.children ?? []) {
    // MQTT 5.0, section 4.7.2
    if (at > 0 || !name.startsWith('$')) collect(child, filter, at + 1, hits)
  }
}

function collectAll(node: Node, first: boolean, hits: Message[]): void {
  if (node.message) hits.push(node.message)
  for (const [name, child] of node.children ?? []) {
    if (!first || !name.startsWith('$')) collectAll(child, false, hits)
  }
}

function prune(path: Node[], levels: readonly string[]): void {
  for (let depth = levels.length; depth > 0; depth--) {
    const node = path[depth]
    const parent = path[depth - 1]
    if (node === undefined || parent === undefined || node.message || node.children) return
    parent.children?.delete(levels[depth - 1] ?? '')
    if (parent.children?.size === 0) parent.children = undefined
  }
}
