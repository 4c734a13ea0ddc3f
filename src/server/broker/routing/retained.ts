import { type Deadline, DeadlineQueue } from '../../../core/util/deadlines.js'
import { LEVEL_SIZE, LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import { type Message, sizeOf } from './delivery.js'
import { LONGEST_HASHED } from './filter-trie.js'

interface Node {
  message: Message | undefined
  /** To whose quotas the message counts. */
  account: QuotaAccount | undefined
  /** When the message is over, if it has an expiry. */
  deadline: Deadline<string> | undefined
  children: Map<string, Node> | undefined
}

/** How many messages there may be, and bytes of them. */
export interface RetainedBounds {
  readonly retained: number
  readonly retainedBytes: number
}

/** Those of `LIMIT`. Read when they are asked for, as specs make them smaller. */
export const RETAINED_BOUNDS: RetainedBounds = {
  get retained() {
    return LIMIT.retainedMessages
  },
  get retainedBytes() {
    return LIMIT.retainedBytes
  },
}

/** The last message of each topic that was published to be kept (MQTT 5.0, section 3.3.1.3). */
export class Retained {
  readonly #brokerMemoryBudget: BrokerMemoryBudget
  readonly #most: RetainedBounds
  readonly #root: Node = emptyNode()
  #count = 0
  #bytes = 0
  /** Topics by when their messages are over: what is over holds nobody's quota when somebody else wants room. */
  readonly #due = new DeadlineQueue<string>()

  constructor(budget: BrokerMemoryBudget, most: RetainedBounds) {
    this.#brokerMemoryBudget = budget
    this.#most = most
  }

  /** Number of messages. */
  get count(): number {
    return this.#count
  }

  /** What they take. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Keeps a message in place of the one before; returns whether there is room for it.
   *
   * @param now - ms of the monotonic clock
   * @param account - to whose quotas it counts, if to anybody's
   */
  set(message: Message, now: number, account?: QuotaAccount | undefined): boolean {
    if (message.topic.length > LONGEST_HASHED) return false
    const { retained, retainedBytes } = this.#most
    this.#expire(now)
    const levels = message.topic.split('/')
    const before = this.#find(levels)
    const bytes = retainedSize(message)
    const old = before?.message ? retainedSize(before.message) : 0
    const isFull = old === 0 && this.#count >= retained
    const more = bytes - old
    if (isFull || (more > 0 && this.#bytes + more > retainedBytes)) return false
    if (!takeShare(account, before, bytes)) return false
    if (more > 0 && !this.#brokerMemoryBudget.take(more)) {
      giveShare(account, bytes)
      return false
    }
    if (more <= 0) this.#brokerMemoryBudget.count(more)
    if (old === 0) this.#count++
    else giveShare(before?.account, old)
    this.#bytes += more
    const node = this.#make(levels)
    node.message = message
    node.account = account
    this.#schedule(node, message)
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
    this.#brokerMemoryBudget.give(bytes)
    giveShare(last.account, bytes)
    last.message = undefined
    last.account = undefined
    this.#schedule(last, undefined)
    prune(path, levels)
  }

  /**
   * The messages whose topics a filter matches.
   *
   * @param now - ms of the monotonic clock
   */
  match(filter: string, now: number): Message[] {
    this.#expire(now)
    const hits: Message[] = []
    collect(this.#root, filter.split('/'), 0, hits)
    return hits
  }

  /** Forgets what is over its time. */
  #expire(now: number): void {
    for (let topic = this.#due.takeDue(now); topic !== undefined; topic = this.#due.takeDue(now)) this.delete(topic)
  }

  #schedule(node: Node, message: Message | undefined): void {
    if (node.deadline) this.#due.remove(node.deadline)
    const { expiresAt, topic } = message ?? {}
    node.deadline = expiresAt === undefined || topic === undefined ? undefined : this.#due.add(expiresAt, topic)
  }

  #find(levels: readonly string[]): Node | undefined {
    let node: Node | undefined = this.#root
    for (const level of levels) node = node?.children?.get(level)
    return node
  }

  #make(levels: readonly string[]): Node {
    let node = this.#root
    for (const level of levels) {
      node.children ??= new Map()
      const child = node.children.get(level) ?? emptyNode()
      node.children.set(level, child)
      node = child
    }
    return node
  }
}

const emptyNode = (): Node => ({
  message: undefined,
  account: undefined,
  deadline: undefined,
  children: undefined,
})

/** Counts a message to its account; less in place of more of the same is always taken. */
function takeShare(account: QuotaAccount | undefined, before: Node | undefined, bytes: number): boolean {
  if (account === undefined) return true
  const own = before?.message && before.account === account ? retainedSize(before.message) : 0
  const full = own === 0 && account.retained.full
  if (full || (bytes > own && account.retainedBytes.used + bytes - own > account.retainedBytes.most)) {
    account.retained.refuse()
    return false
  }
  account.retained.count(1)
  account.retainedBytes.count(bytes)
  return true
}

function giveShare(account: QuotaAccount | undefined, bytes: number): void {
  account?.retained.give()
  account?.retainedBytes.give(bytes)
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
