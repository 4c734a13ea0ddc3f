import type * as REASON from './reason-codes.js'

/** A reason code as a number. */
export type ReasonCode = (typeof REASON)[keyof typeof REASON]

/** Reason codes from here on are failures (MQTT 5.0, section 2.4). */
export const FIRST_FAILURE = 0x80
