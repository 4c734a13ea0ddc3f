import type { Publish } from '../../core/mqtt5/packets.js'

/** A generous estimate of the memory in bytes that a message takes in addition to its contents. */
const OVERHEAD_BYTES = 500

/** Returns the approximate memory of a message in bytes. Counts all parts whose size a client chooses. */
export function messageSize({ topic, payload, correlationData, userProperties }: Publish): number {
  let bytes = OVERHEAD_BYTES + topic.length + payload.length + (correlationData?.length ?? 0)
  for (const [name, value] of Object.entries(userProperties))
    bytes +=
      name.length + (typeof value === 'string' ? value.length : value.reduce((sum, { length }) => sum + length, 0))
  return bytes
}
