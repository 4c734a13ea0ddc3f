import type { ReasonCode } from './reason-code.js'
import * as REASON from './reason-codes.js'

/** Return codes of MQTT 3.1.1 (section 3.2.2.3) for those of MQTT 5.0; what has none is said to be unavailable. */
const RETURN_CODES: Partial<Record<ReasonCode, number>> = {
  [REASON.success]: 0,
  [REASON.unsupportedProtocolVersion]: 1,
  [REASON.clientIdentifierNotValid]: 2,
  [REASON.badUserNameOrPassword]: 4,
  [REASON.badAuthenticationMethod]: 4,
  [REASON.notAuthorized]: 5,
  [REASON.banned]: 5,
}
const SERVER_UNAVAILABLE = 3

/** The return code of a CONNACK of MQTT 3.1.1. */
export const returnCodeOf = (code: ReasonCode): number => RETURN_CODES[code] ?? SERVER_UNAVAILABLE
