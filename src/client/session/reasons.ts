// By its default alone: the build for browsers exports nothing else.
import mqtt from 'mqtt'

/** What a reason code of MQTT 5.0 (section 2.4) is called; `reason 7` for one that nobody knows. */
export const reasonWords = (code: number): string =>
  Object.entries(mqtt.ReasonCodes).find(([known]) => Number(known) === code)?.[1] ?? `reason ${code}`

/** Why a broker ended a connection, and what to do where that alone does not tell. */
export function disconnectMessage(code: number, clientId: string): string {
  if (code === TAKEN_OVER) {
    return `another client took the id ${JSON.stringify(clientId)}: every client needs an id of its own`
  }
  return `it said ${code}, ${reasonWords(code)}`
}

/** Session taken over: by another client with our id, or by an attempt of ours that was given up and arrived late. */
export const TAKEN_OVER = 142

// Reasons for which the same CONNECT would fail again, or would fight another client for the session (MQTT 5.0,
// section 2.4). 1, 2, 4 and 5 are what brokers before MQTT 5 answer.
const FATAL_REASONS = new Set([
  1, // unacceptable protocol version
  2, // identifier rejected
  4, // bad user name or password
  5, // not authorized
  130, // protocol error
  132, // unsupported protocol version
  133, // client identifier not valid
  134, // bad user name or password
  135, // not authorized
  138, // banned
  140, // bad authentication method
  TAKEN_OVER,
  144, // topic name invalid
  // Of a will, which is ours alone to change; only a store beside a broker has one.
  154, // retain not supported
  155, // QoS not supported
  156, // use another server
  157, // server moved
])

/** Whether a reason code says that another broker would take us. */
export const isElsewhere = (reasonCode: number | undefined): boolean => reasonCode === 156 || reasonCode === 157

/** Whether a reason code of CONNACK or DISCONNECT makes connecting again pointless. */
export const isFatalReason = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && FATAL_REASONS.has(reasonCode)

/** Reasons with which a broker objects to what it was sent (MQTT 5.0, section 2.4). */
const OBJECTIONS: ReadonlySet<number> = new Set([
  129, // malformed packet
  130, // protocol error
  135, // not authorized
  144, // topic name invalid
  148, // topic alias invalid
  149, // packet too large
  153, // payload format invalid
  154, // retain not supported
  155, // QoS not supported
])

/** Returns whether a reason code of DISCONNECT says that the broker ended the connection over something it was sent. */
export const isObjection = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && OBJECTIONS.has(reasonCode)
