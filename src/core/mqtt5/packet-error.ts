import { StateStoreError } from '../util/errors.js'
import type { ReasonCode } from './reason-codes.js'
import * as REASON from './reason-codes.js'

/**
 * A packet that the standard does not allow. `reasonCode` is what CONNACK or DISCONNECT are to say before the connection
 * is closed (MQTT 5.0, section 4.13).
 */
export class PacketError extends StateStoreError {
  override readonly name = 'PacketError'
  readonly reasonCode: ReasonCode

  constructor(reasonCode: ReasonCode, message: string, options?: ErrorOptions) {
    super('payload', message, options)
    this.reasonCode = reasonCode
  }
}

/** What cannot be parsed (MQTT 5.0, section 1.2: Malformed Packet). */
export const malformed = (message: string, options?: ErrorOptions): PacketError =>
  new PacketError(REASON.malformedPacket, message, options)

/** What can be parsed and holds what is not allowed (MQTT 5.0, section 1.2: Protocol Error). */
export const protocolError = (message: string): PacketError => new PacketError(REASON.protocolError, message)
