import { parseNotification } from '../../core/protocol/notifications.js'
import { versionOf } from '../../core/protocol/properties.js'
import { reason, StateStoreError } from '../../core/util/errors.js'
import type { InboundMessage } from '../session/session.js'
import type { Change } from './watch-state.js'

/** What a registry has to know of a connection. */
export interface WatchedConnection {
  /** The broker kept nothing of an earlier one, so nothing of it can come. */
  readonly fresh: boolean
  /** What the broker adds to messages for the subscription made on it, where it does. */
  readonly subscriptionId: number | undefined
  /**
   * The store is not part of its broker and does not see connections end: what it told to registrations of before, or tells
   * once more as it does not know whether it arrived, may come on this one like any other.
   */
  readonly late: boolean
}

/** Something changed, whatever it was: a read will show it. */
const UNREADABLE = { op: 'set', value: undefined, version: undefined } as const

/** What a notification tells. What cannot be read is reported. */
export function changeIn(message: InboundMessage, report: (error: StateStoreError) => void): Change {
  try {
    const notification = parseNotification(message.payload)
    const value = notification.op === 'set' ? notification.value : undefined
    return { op: notification.op, value, version: versionOf(message) }
  } catch (error) {
    report(error instanceof StateStoreError ? error : new StateStoreError('payload', reason(error), { cause: error }))
    return UNREADABLE
  }
}

/**
 * Whether a notification was told on a connection, or queued before (MQTT 5.0, section 3.3.4), or whether that is not
 * known.
 */
export function ageOf(
  { subscriptionIds }: InboundMessage,
  connection: WatchedConnection | undefined,
): 'certain' | 'stale' | 'unknown' {
  if (connection === undefined) return 'unknown'
  const { fresh, subscriptionId } = connection
  if (fresh) return 'certain'
  if (subscriptionId === undefined || subscriptionIds.length === 0) return 'unknown'
  return subscriptionIds.includes(subscriptionId) ? 'certain' : 'stale'
}
