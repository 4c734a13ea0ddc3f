import { createHmac, randomBytes } from 'node:crypto'

/** The id of a message by which a stream recognises it, by its number and attempt. */
export type MessageIds = (number: number, attempt: number) => string

/**
 * Returns the ids of the messages of one life. A stream drops a message whose id it has had: so no one who may publish can
 * know the next ones from what is in the stream. The key never leaves the process.
 */
export function messageIds(key: Uint8Array = randomBytes(32)): MessageIds {
  return (number, attempt) => createHmac('sha256', key).update(`${number}:${attempt}`).digest('base64url').slice(0, 22)
}
