import type { Deadline } from '../../deadlines.js'
import type { Payload } from '../wire/frames.js'
import type { Session } from './session.js'

/** An event on its way to the application, which decides what is answered. */
export class EventRequest {
  readonly session: Session
  readonly event: string
  readonly payload: Payload
  readonly ackId: bigint | undefined
  /** Of its frame: bytes, or characters of text. */
  readonly size: number
  /** When it is answered without the application; only if an answer was asked for. */
  deadline: Deadline<EventRequest> | undefined
  /** Whether it is decided. */
  settled = false

  constructor(session: Session, event: string, payload: Payload, ackId: bigint | undefined, size: number) {
    this.session = session
    this.event = event
    this.payload = payload
    this.ackId = ackId
    this.size = size
  }
}
