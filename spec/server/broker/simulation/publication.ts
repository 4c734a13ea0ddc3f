import type { IPublishPacket } from 'mqtt-packet'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'

type Qos = 0 | 1 | 2

/** A message, from whoever publishes it. Its number is in its payload, or, when that has to be empty, beside it. */
export interface Publication {
  readonly number: number
  readonly kind: 'message' | 'will' | 'answer'
  readonly client: string
  readonly topic: string
  readonly qos: Qos
  readonly retain: boolean
  readonly what: 'small' | 'large' | 'empty'
  /** s */
  readonly expiry: number | undefined
  /** How often the broker took it on. */
  accepted: number
  /** How often it was sent. */
  sent: number
}

/** Larger than what a client takes that takes no large packets, bytes. */
const LARGE = 300

export const SMALL_PACKET = 120

export function payloadOf({ number, what }: Publication): string {
  if (what === 'empty') return ''
  return what === 'large' ? `${number}`.padEnd(LARGE, ' ') : `${number}`
}

/** The number of a PUBLISH on its way to a client; `undefined` for one that is empty, with MQTT 3.1.1. */
export function numberOf({ payload, properties }: IPublishPacket): number | undefined {
  const text = payload.length > 0 ? payload : properties?.correlationData
  return text === undefined ? undefined : Number(text.toString())
}

/** The number of a message in the broker. */
export function numberIn({ content: { payload, correlationData, carried } }: Pick<Message, 'content'>): number {
  // In what is carried, an identifier and a length come before correlation data.
  const bytes = payload.length > 0 ? payload : (correlationData ?? (carried ?? new Uint8Array(0)).subarray(3))
  return Number(new TextDecoder().decode(bytes))
}

/** `number` more of something. */
export const count = (counts: Map<number, number>, key: number, more = 1): void => {
  counts.set(key, (counts.get(key) ?? 0) + more)
}
