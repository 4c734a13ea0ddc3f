import { type Deadline, DeadlineQueue } from '../../../core/util/deadlines.js'
import { LEVEL_BYTES, LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import { type Message, sizeOf } from './delivery.js'
import { MAX_HASHED_LENGTH } from './filter-trie.js'

interface Node {
  message: Message | undefined
  /** To whose quotas the message counts. */
  account: QuotaAccount | undefined
  /** When the message is over, if it has an expiry. */
  deadline: Deadline<string> | undefined
  children: Map<string, Node> | undefined
}

/** How many messages there may be, and bytes of them. */
export interface RetainedLimits {
  readonly retained: number
  readonly retainedBytes: number
}

/** Those of `LIMIT`. Read when they are asked for, as specs make them smaller. */
export const DEFAULT_RETAINED_LIMITS: RetainedLimits = {
  get retained() {
    return LIMIT.retainedMessages
  },
  get retainedBytes() {
    return LIMIT.retainedBytes
  },
}

/** The last message of each topic that was published to be kept (MQTT 5.0, section 3.3.1.3). */
export class RetainedMessages {
  readonly #budget: BrokerMemoryBudget
  readonly #limits: RetainedLimits
  readonly #root: Node = emptyNode()
  #count = 0
  #bytes = 0
  /** Topics by when their messages are over: what is over holds nobody's quota when somebody else wants room. */
  readonly #deadlines = new DeadlineQueue<string>()

  constructor(budget: BrokerMemoryBudget, limits: RetainedLimits) {
    this.#budget = budget
    this.#limits = limits
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
    if (message.topic.length > MAX_HASHED_LENGTH) return false
    const { retained, retainedBytes } = this.#limits
    this.#removeExpired(now)
    const levels = message.topic.split('/')
    const previous = this.#find(levels)
    const bytes = retainedBytesOf(message)
    const previousBytes = previous?.message ? retainedBytesOf(previous.message) : 0
    const isFull = previousBytes === 0 && this.#count >= retained
    const addedBytes = bytes - previousBytes
    if (isFull || (addedBytes > 0 && this.#bytes + addedBytes > retainedBytes)) return false
    if (!tryCharge(account, previous, bytes)) return false
    if (addedBytes > 0 && !this.#budget.tryReserve(addedBytes)) {
      refund(account, bytes)
      return false
    }
    if (addedBytes <= 0) this.#budget.adjust(addedBytes)
    if (previousBytes === 0) this.#count++
    else refund(previous?.account, previousBytes)
    this.#bytes += addedBytes
    const node = this.#ensureNode(levels)
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
    const bytes = retainedBytesOf(last.message)
    this.#count--
    this.#bytes -= bytes
    this.#budget.release(bytes)
    refund(last.account, bytes)
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
    this.#removeExpired(now)
    const hits: Message[] = []
    collect(this.#root, filter.split('/'), 0, hits)
    return hits
  }

  /** Forgets what is over its time. */
  #removeExpired(now: number): void {
    for (let topic = this.#deadlines.takeDue(now); topic !== undefined; topic = this.#deadlines.takeDue(now))
      this.delete(topic)
  }

  #schedule(node: Node, message: Message | undefined): void {
    if (node.deadline) this.#deadlines.remove(node.deadline)
    const { expiresAt, topic } = message ?? {}
    node.deadline = expiresAt === undefined || topic === undefined ? undefined : this.#deadlines.add(expiresAt, topic)
  }

  #find(levels: readonly string[]): Node | undefined {
    let node: Node | undefined = this.#root
    for (const level of levels) node = node?.children?.get(level)
    return node
  }

  #ensureNode(levels: readonly string[]): Node {
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
function tryCharge(account: QuotaAccount | undefined, previous: Node | undefined, bytes: number): boolean {
  if (account === undefined) return true
  const previousBytes = previous?.message && previous.account === account ? retainedBytesOf(previous.message) : 0
  const isFull = previousBytes === 0 && account.retained.isFull
  if (
    isFull ||
    (bytes > previousBytes && account.retainedBytes.used + bytes - previousBytes > account.retainedBytes.limit)
  ) {
    account.retained.recordRefusal()
    return false
  }
  account.retained.adjust(1)
  account.retainedBytes.adjust(bytes)
  return true
}

function refund(account: QuotaAccount | undefined, bytes: number): void {
  account?.retained.release()
  account?.retainedBytes.release(bytes)
}

/** What a message counts while it is retained, bytes: with the branches it lies on, of which it may share none. */
export const retainedBytesOf = (message: Message): number =>
  sizeOf(message) + LEVEL_BYTES * message.topic.split('/').length

function collect(node: Node, filter: readonly string[], depth: number, hits: Message[]): void {
  const level = filter[depth]
  if (level === undefined) {
    if (node.message) hits.push(node.message)
    return
  }
  if (level === '#') {
    collectAll(node, depth === 0, hits)
    return
  }
  if (level !== '+') {
    const child = node.children?.get(level)
    if (child) collect(child, filter, depth + 1, hits)
    return
  }
  for (const [name, child] of node.children ?? []) {
    // MQTT 5.0, section 4.7.2
    if (depth > 0 || !name.startsWith('$')) collect(child, filter, depth + 1, hits)
  }
}

function collectAll(node: Node, isTopLevel: boolean, hits: Message[]): void {
  if (node.message) hits.push(node.message)
  for (const [name, child] of node.children ?? []) {
    if (!isTopLevel || !name.startsWith('$')) collectAll(child, false, hits)
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
