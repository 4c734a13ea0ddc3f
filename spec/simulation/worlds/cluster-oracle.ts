import { Hlc } from '../../../src/core/hlc/hlc.js'
import { encodeNotification } from '../../../src/core/protocol/notifications.js'
import { bytes, textOf } from '../../support/words.js'
import type { Operation, Peer, Watch } from './cluster-clients.js'
import type { ClusterHistory, KeyState } from './cluster-history.js'

/** An operation with its position among its key's changes. */
interface PositionedOperation {
  readonly operation: Operation
  readonly end: number
  readonly index: number
  readonly hasChanged: boolean
}

/** How long an expired key may still exist at the end, by log time, in milliseconds. */
const MAX_OVERDUE_MS = 2_000

export function* judge(
  history: ClusterHistory,
  operations: readonly Operation[],
  peers: readonly Peer[],
): Generator<string, void> {
  const placed = new Map<string, PositionedOperation[]>()
  for (const operation of operations) {
    const { id, key, end, peer, isRejected } = operation
    if (isRejected && history.outcomes.has(id)) yield `request ${id} took effect although the store rejected it`
    if (end === undefined && peer.open) yield `request ${id} was never answered`
    if (end === undefined || isRejected) continue
    const position = positionOf(history, operation)
    if (typeof position === 'string') yield `request ${id} ${position}`
    else {
      const all = placed.get(key) ?? []
      placed.set(key, all)
      all.push({ operation, end, ...position })
    }
  }
  for (const [key, all] of placed) yield* judgeOrder(history.statesOf(key), all, operations)
  for (const peer of peers) for (const watch of peer.watches.values()) yield* judgeNotifications(history, peer, watch)
  yield* judgeExpiries(history)
}

/** Returns the position at which an operation took effect: the number of changes of its key at that time. */
function positionOf(
  history: ClusterHistory,
  operation: Operation,
): string | Pick<PositionedOperation, 'index' | 'hasChanged'> {
  const { id, words, reply, version, position, key } = operation
  if (words[0] !== 'GET') {
    const outcome = history.outcomes.get(id)
    if (outcome === undefined) return 'was acknowledged and lost'
    if (outcome.reply !== reply || outcome.version !== version)
      return `was answered ${reply} ${version} instead of ${outcome.reply} ${outcome.version}`
    return outcome
  }
  const at = version ?? position
  if (at === undefined) return `has no version: ${reply}`
  const index = history.indexAt(key, Hlc.parse(at))
  const state = history.statesOf(key)[index]
  const expected = state?.value === undefined ? '$-1\r\n' : `$${state.value.length}\r\n${state.value}\r\n`
  if (reply !== expected) return `read ${reply} instead of ${expected}`
  return { index, hasChanged: false }
}

/**
 * Checks linearizability of a key. The key's states are ordered by version, and every operation has a position in
 * that order: a write's position is its own state, and the position of any other operation is the state that the
 * operation saw. Each reply has already been compared with the state at its position. Therefore, sorted by position,
 * then the write first, then start, the operations are a sequential history that a register allows.
 *
 * The history respects real time except in two cases, which the check searches for. Either an operation ended before
 * another operation began that has a smaller position, or that has the same position and is its write. Or a read saw a
 * write that was requested only after the read had ended.
 */
function* judgeOrder(
  states: readonly KeyState[],
  placed: readonly PositionedOperation[],
  operations: readonly Operation[],
): Generator<string, void> {
  for (const { operation, index, hasChanged, end } of placed) {
    for (const before of placed) {
      if (before.end >= operation.start) continue
      if (index < before.index || (hasChanged && index === before.index))
        yield `request ${operation.id} is older than request ${before.operation.id}, which was answered before the request`
    }
    const cause = operations[states[index]?.operation ?? -1]
    if (cause !== undefined && cause.start > end) yield `request ${operation.id} saw a write that was not requested yet`
  }
}

/**
 * Checks that a watch was notified exactly once and in order of all changes that its node applied after the
 * registration.
 */
function* judgeNotifications(
  history: ClusterHistory,
  { clientId }: Peer,
  { key, since, until, notifications }: Watch,
): Generator<string, void> {
  const expected = history
    .statesOf(key)
    .filter(({ version }) => isBetween(version, since, until))
    .map(({ version, value }) => {
      const notification = value === undefined ? { op: 'delete' as const } : { op: 'set' as const, value: bytes(value) }
      return `${version} ${textOf(encodeNotification(notification))}`
    })
  const actual = notifications.map(({ version, payload }) => `${version} ${payload}`)
  if (actual.join() !== expected.join())
    yield `${clientId} was not notified of each change once, in order: shows ${actual} instead of ${expected}`
}

const isBetween = (version: Hlc | undefined, since: Hlc | undefined, until: Hlc | undefined): boolean =>
  version !== undefined &&
  (since === undefined || version.compareTo(since) > 0) &&
  until !== undefined &&
  version.compareTo(until) <= 0

function* judgeExpiries(history: ClusterHistory): Generator<string, void> {
  for (const [key, states] of history.keys) {
    const due = states.at(-1)?.expiresAt
    if (due !== undefined && due < history.replica.time - MAX_OVERDUE_MS) yield `${key} outlived its expiry`
  }
}
