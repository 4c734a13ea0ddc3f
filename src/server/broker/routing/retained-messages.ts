import { type Deadline, DeadlineQueue } from '../../../core/util/deadlines.js'
import { LEVEL_BYTES, LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'
import { type Message, sizeOf } from './delivery.js'
import { MAX_HASHED_LENGTH } from './filter-trie.js'

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
  readonly #budget: BrokerMemoryBudget
  readonly #limits: RetainedLimits
  readonly #root: Node = emptyNode()
  #count = 0
  #bytes = 0
  #lastSequence = 0
  /** The topics by message expiry, so that expired messages release their quota before a new message is rejected. */
  readonly #deadlines = new DeadlineQueue<string>()

  constructor(budget: BrokerMemoryBudget, limits: RetainedLimits) {
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
   * Replaces the message of a topic if the limits, the quota and the budget permit that. Returns whether the message
   * was replaced.
   *
   * @param now - ms of the monotonic clock
   * @param account - the account to charge for the message, if any
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
    node.sequence = ++this.#lastSequence
    node.account = account
    this.#schedule(node, message)
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
   * call, because the subscriber receives them when they are published.
   *
   * @param now - ms of the monotonic clock
   * @param isLost - returns whether the subscriber did not receive a message that was stored after this call
   */
  match(filter: string, now: number, isLost: MessageTest = () => false): IterableIterator<Message> {
    this.#removeExpired(now)
    const lastSequence = this.#lastSequence
    return matching(this.#root, filter, (message, sequence) => sequence <= lastSequence || isLost(message, sequence))
  }

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

/** Splits the filter when the first message is taken, because many subscriptions of a client may be waiting. */
function* matching(root: Node, filter: string, isDue: MessageTest): Generator<Message, void> {
  yield* collect(root, filter.split('/'), 0, isDue)
}

function* collect(node: Node, filter: readonly string[], depth: number, isDue: MessageTest): Generator<Message, void> {
  const level = filter[depth]
  if (level === undefined) {
    if (node.message && isDue(node.message, node.sequence)) yield node.message
    return
  }
  if (level === '#') {
    yield* collectAll(node, depth === 0, isDue)
    return
  }
  if (level !== '+') {
    const child = node.children?.get(level)
    if (child) yield* collect(child, filter, depth + 1, isDue)
    return
  }
  for (const [name, child] of node.children ?? []) {
    // A wildcard at the first level does not match topics that start with `$` (MQTT 5.0, section 4.7.2).
    if (depth > 0 || !name.startsWith('$')) yield* collect(child, filter, depth + 1, isDue)
  }
}

function* collectAll(node: Node, isTopLevel: boolean, isDue: MessageTest): Generator<Message, void> {
  if (node.message && isDue(node.message, node.sequence)) yield node.message
  for (const [name, child] of node.children ?? []) {
    if (!isTopLevel || !name.startsWith('$')) yield* collectAll(child, false, isDue)
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
