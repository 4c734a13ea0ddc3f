import { PayloadError } from '../../errors.js'
import type { DataFrame, Dialect, NumberedFrame } from './dialect.js'
import type { Session } from './session.js'
import { MOST_UNACKED_BYTES } from './unacked.js'

/** What became of a message. */
export interface FanOut {
  /** Sessions it was queued for. */
  readonly deliveries: number
  /** Those for whom it was one too many. */
  readonly overflowed: readonly Session[]
  /** Those that had better be waited for before they overflow. */
  readonly lagging: readonly Session[]
}

/**
 * Queues a message for every target, encoded once per dialect. Either all of them get it or, when it cannot be encoded,
 * an error is raised and nobody does.
 *
 * @param spared - connection ids that do not get it
 */
export function fanOut(targets: ReadonlySet<Session>, frame: DataFrame, spared?: ReadonlySet<string>): FanOut {
  const encoded = new Map<Dialect, NumberedFrame>()
  for (const { dialect } of targets) if (!encoded.has(dialect)) encoded.set(dialect, encode(dialect, frame))
  let deliveries = 0
  const [overflowed, lagging]: [Session[], Session[]] = [[], []]
  for (const session of targets) {
    const message = encoded.get(session.dialect)
    if (message === undefined || spared?.has(session.connectionId)) continue
    session.deliver(message)
    deliveries++
    if (session.overflowed) overflowed.push(session)
    else if (session.lagging) lagging.push(session)
  }
  return { deliveries, overflowed, lagging }
}

/** Encodes a message; raises an error when that cannot be, or when it is too large for anybody. */
export function encode(dialect: Dialect, frame: DataFrame): NumberedFrame {
  const message = dialect.encodeOnce(frame)
  // It would end every session it is queued for.
  if (message.sizeAt(1) > MOST_UNACKED_BYTES) {
    throw new PayloadError(`A message may have ${MOST_UNACKED_BYTES} bytes, this one has ${message.sizeAt(1)}`)
  }
  return message
}
