/**
 * Checks that a subscriber received a sequence of messages once, in order, and completely.
 *
 * @param required - positions of the messages that must have arrived
 * @param received - positions of the messages in the order of their arrival
 */
export function findDeliveryViolations(required: readonly number[], received: readonly number[]): string[] {
  const known = new Set(received)
  const missing = required.filter(position => !known.has(position))
  const misplaced = received.flatMap((position, i) => {
    const before = received[i - 1] ?? Number.NEGATIVE_INFINITY
    return position > before ? [] : [`received ${position} after ${before}`]
  })
  return missing.length > 0 ? [`missed ${missing.length} messages, first ${missing[0]}`, ...misplaced] : misplaced
}
