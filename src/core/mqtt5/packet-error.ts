import { StateStoreError } from '../util/errors.js'
import type { ReasonCode } from './reason-codes.js'
import * as REASON from './reason-codes.js'

/**
 * A packet that the standard does not allow. `reasonCode` is sent in CONNACK or DISCONNECT before the connection is
 * closed (MQTT 5.0, section 4.13).
 */
export class PacketError extends StateStoreError {
  override readonly name = 'PacketError'
  readonly reasonCode: ReasonCode

  constructor(reasonCode: ReasonCode, message: string, options?: ErrorOptions) {
    super('payload', message, options)
    this.reasonCode = reasonCode
  }
}

/** Creates the error of a packet that cannot be parsed (MQTT 5.0, section 1.2: Malformed Packet). */
export const malformed = (message: string, options?: ErrorOptions): PacketError =>
  new PacketError(REASON.malformedPacket, message, options)

/** Creates the error of a parseable packet with disallowed content (MQTT 5.0, section 1.2: Protocol Error). */
export const protocolError = (message: string): PacketError => new PacketError(REASON.protocolError, message)
