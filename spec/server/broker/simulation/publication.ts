import type { IPublishPacket } from 'mqtt-packet'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'

type Qos = 0 | 1 | 2

/** A published message. Its number is in the payload, or in the correlation data if the payload is empty. */
export interface Publication {
  readonly number: number
  readonly kind: 'message' | 'will' | 'answer'
  readonly client: string
  readonly topic: string
  readonly qos: Qos
  readonly retain: boolean
  readonly what: 'small' | 'large' | 'empty'
  /** In seconds. */
  readonly expiry: number | undefined
  accepted: number
  sent: number
}

/** A payload size in bytes that exceeds the maximum packet size of small clients. */
const LARGE_BYTES = 300

export const SMALL_PACKET = 120

export function payloadOf({ number, what }: Publication): string {
  if (what === 'empty') return ''
  return what === 'large' ? `${number}`.padEnd(LARGE_BYTES, ' ') : `${number}`
}

/** Returns the number of a PUBLISH to a client, or `undefined` for an empty PUBLISH over MQTT 3.1.1. */
export function numberOf({ payload, properties }: IPublishPacket): number | undefined {
  const text = payload.length > 0 ? payload : properties?.correlationData
  return text === undefined ? undefined : Number(text.toString())
}

export function numberIn({ content: { payload, correlationData, carried } }: Pick<Message, 'content'>): number {
  // In the encoded properties, an identifier and a length precede the correlation data.
  const bytes = payload.length > 0 ? payload : (correlationData ?? (carried ?? new Uint8Array(0)).subarray(3))
  return Number(new TextDecoder().decode(bytes))
}

export const count = (counts: Map<number, number>, key: number, more = 1): void => {
  counts.set(key, (counts.get(key) ?? 0) + more)
}
