import type { AckError } from '../wire/frames.js'
import { MOST_GROUPS } from './identity.js'

/** How long the application may take to decide on an event, ms. */
export const EVENT_TIMEOUT = 30_000
/** Most events of one connection that wait for the application to decide, and how large they are together, bytes. */
export const MOST_UNDECIDED = 1_000
export const MOST_UNDECIDED_BYTES = 16 * 1024 * 1024

/** Why a request was not done, in the words of the wire. (JSON subprotocol reference, "Ack response".) */
export const REFUSALS = {
  duplicate: { name: 'Duplicate', message: 'A request with this ackId was processed already' },
  tooManyGroups: { name: 'BadRequest', message: `A connection can be in ${MOST_GROUPS} groups` },
  join: { name: 'Forbidden', message: 'The connection may not join or leave this group' },
  send: { name: 'Forbidden', message: 'The connection may not send to this group' },
  unhandled: { name: 'NotFound', message: 'Nobody handles events at this hub' },
  undecided: { name: 'Timeout', message: `The event was not answered within ${EVENT_TIMEOUT} ms` },
  busy: { name: 'InternalServerError', message: 'Too many events of this connection wait for an answer' },
} as const satisfies Record<string, AckError>
