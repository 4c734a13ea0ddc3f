import { type Deadline, DeadlineQueue } from '../../../core/util/deadlines.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LEVEL_BYTES, LIMIT } from '../limits/limits.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import { type Message, sizeOf } from './delivery.js'
import { MAX_HASHED_LENGTH } from './filter-trie.js'

/** The number of nodes that a search visits between two messages or pauses. */
const VISITS_PER_STEP = 256
/** The limit on expired messages that one operation removes, so that it does not delay others for long. */
const MAX_EXPIRED_PER_OPERATION = 64

interface Node {
  message: Message | undefined
  /** The number of the message in the order of storing. */
  sequence: number
  account: QuotaAccount | undefined
  deadline: Deadline<string> | undefined
  children: Map<string, Node> | undefined
}

/** A condition on a retained message and its number in the order of storing. */
export type MessageTest = (message: Message, sequence: number) => boolean

export interface RetainedLimits {
  readonly retained: number
  readonly retainedBytes: number
}

/** The limits in `LIMIT`, read by getters because specs change them. */
export const DEFAULT_RETAINED_LIMITS: RetainedLimits = {
  get retained() {
    return LIMIT.retainedMessages
  },
  get retainedBytes() {
    return LIMIT.retainedBytes
  },
}

/** Keeps the last retained message of each topic (MQTT 5.0, section 3.3.1.3). */
export class RetainedMessages {
  readonly #budget: MemoryBudget
  readonly #limits: RetainedLimits
  readonly #root: Node = emptyNode()
  #count = 0
  #bytes = 0
  #lastSequence = 0
  /** The topics by message expiry, so that expired messages release their quota before a new message is rejected. */
  readonly #deadlines = new DeadlineQueue<string>()

  constructor(budget: MemoryBudget, limits: RetainedLimits) {
    this.#budget = budget
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The number of the message that was stored last. */
  get lastSequence(): number {
    return this.#lastSequence
  }

  /**
   * Replaces a topic's message if the limits, the quota and the budget permit that. Returns whether the message
   * was replaced.
   *
   * @param now - ms of the monotonic clock
   * @param account - the account to charge for the message, if any
   */
  set(message: Message, now: number, account?: QuotaAccount | undefined): boolean {
    if (message.topic.length > MAX_HASHED_LENGTH) return false
    const { retained, retainedBytes } = this.#limits
    this.removeExpired(now)
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
    node.sequence = ++this.#lastSequence
    node.account = account
    this.#schedule(node, message)
    return true
  }

  /** Removes some of the expired messages. Returns whether others may be left. */
  removeExpired(now: number): boolean {
    for (let count = 0; count < MAX_EXPIRED_PER_OPERATION; count++) {
      const topic = this.#deadlines.takeDue(now)
      if (topic === undefined) return false
      this.delete(topic)
    }
    return true
  }

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
   * Returns the retained messages that match a filter, looked up as they are taken. Omits messages stored after this
   * call, because the subscriber receives them when they are published. Yields `undefined` after each bounded part of a
   * search that finds no message, so that the caller can pause.
   *
   * @param now - ms of the monotonic clock
   * @param isLost - returns whether the subscriber did not receive a message that was stored after this call
   */
  match(filter: string, now: number, isLost: MessageTest = () => false): IterableIterator<Message | undefined> {
    this.removeExpired(now)
    const lastSequence = this.#lastSequence
    return matching(
      this.#root,
      filter,
      (message, sequence) =>
        (sequence <= lastSequence || isLost(message, sequence)) &&
        (message.expiresAt ?? Number.POSITIVE_INFINITY) > now,
    )
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
  sequence: 0,
  account: undefined,
  deadline: undefined,
  children: undefined,
})

/** Charges a message to its account. Replacing a message of the same account by a smaller message always succeeds. */
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

/** Returns the bytes that a retained message takes if it shares no branch with other topics. */
export const retainedBytesOf = (message: Message): number =>
  sizeOf(message) + LEVEL_BYTES * message.topic.split('/').length

/** Nodes that remain to be visited at one level. */
interface Branch {
  readonly nodes: Iterator<Node>
  readonly depth: number
}

/**
 * Walks along a filter. Splits the filter when the first item is taken, because many subscriptions of a client may be
 * waiting.
 */
function* matching(root: Node, filter: string, isDue: MessageTest): Generator<Message | undefined, void> {
  const levels = filter.split('/')
  const branches: Branch[] = [{ nodes: [root].values(), depth: 0 }]
  let visits = 0
  for (let branch = branches.at(-1); branch !== undefined; branch = branches.at(-1)) {
    if (++visits % VISITS_PER_STEP === 0) yield undefined
    const { value: node, done } = branch.nodes.next()
    if (done) {
      branches.pop()
      continue
    }
    const { depth } = branch
    const level = levels[depth]
    // `a/#` also matches `a` (MQTT 5.0, section 4.7.1.2).
    if ((level === undefined || level === '#') && node.message && isDue(node.message, node.sequence)) yield node.message
    if (level === undefined || node.children === undefined) continue
    const nodes = childrenOf(node.children, level, depth === 0 && node === root)
    branches.push({ nodes, depth: level === '#' ? depth : depth + 1 })
  }
}

function childrenOf(children: ReadonlyMap<string, Node>, level: string, isTopLevel: boolean): Iterator<Node> {
  if (level === '+' || level === '#') return isTopLevel ? topicsWithoutDollar(children) : children.values()
  const child = children.get(level)
  return (child === undefined ? [] : [child]).values()
}

/** A wildcard at the first level does not match topics that start with `$` (MQTT 5.0, section 4.7.2). */
function* topicsWithoutDollar(children: ReadonlyMap<string, Node>): Generator<Node, void> {
  for (const [name, child] of children) if (!name.startsWith('$')) yield child
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
