import { INVOKE_TOPIC } from '../../../../src/core/protocol/topics.js'
import { toHex, utf8 } from '../../../../src/core/util/bytes.js'

// MQTT 5 packets, byte by byte, so that any of them can be wrong.

/** Variable byte integer (MQTT 5.0, section 1.5.5). */
export function variable(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest)
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.from(bytes)
}

export const uint16 = (value: number): Buffer => Buffer.of(value >> 8, value & 255)
export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Bytes with their length before them. */
export const binary = (value: Uint8Array): Buffer => Buffer.concat([uint16(value.length), value])
export const text = (value: string): Buffer => binary(Buffer.from(value))

/** A packet: its first byte, and what follows the length. */
export function packet(header: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(header), variable(body.length), body])
}

/** Properties with their length before them. */
export const properties = (...all: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(all)
  return Buffer.concat([variable(body.length), body])
}

/** A property: its identifier (MQTT 5.0, section 2.2.2.2) and its value. */
const property = (id: number, value: Uint8Array): Buffer => Buffer.concat([Buffer.of(id), value])

export const PROPERTY = {
  payloadFormat: (value: number): Buffer => property(0x01, Buffer.of(value)),
  messageExpiry: (s: number): Buffer => property(0x02, uint32(s)),
  contentType: (value: string): Buffer => property(0x03, text(value)),
  responseTopic: (value: string): Buffer => property(0x08, text(value)),
  correlationData: (value: string): Buffer => property(0x09, text(value)),
  subscriptionId: (value: number): Buffer => property(0x0b, variable(value)),
  sessionExpiry: (s: number): Buffer => property(0x11, uint32(s)),
  authenticationMethod: (value: string): Buffer => property(0x15, text(value)),
  authenticationData: (value: string): Buffer => property(0x16, text(value)),
  willDelay: (s: number): Buffer => property(0x18, uint32(s)),
  receiveMaximum: (value: number): Buffer => property(0x21, uint16(value)),
  topicAlias: (value: number): Buffer => property(0x23, uint16(value)),
  user: (name: string, value: string): Buffer => property(0x26, Buffer.concat([text(name), text(value)])),
}

export interface ConnectOptions {
  /** Default true. */
  readonly clean?: boolean
  readonly properties?: Buffer
  readonly will?: { readonly topic: string; readonly payload: Buffer; readonly properties?: Buffer }
  /** Default 5. */
  readonly version?: 4 | 5
  /** Default neither. */
  readonly username?: string
  readonly password?: string
}

/** CONNECT without keep-alive. */
export function connect(clientId: string, options: ConnectOptions = {}): Buffer {
  const { clean = true, properties: own = properties(), will, version = 5, username, password } = options
  const proof = [username, password].flatMap(word => (word === undefined ? [] : [text(word)]))
  const shown = (username === undefined ? 0 : 0x80) | (password === undefined ? 0 : 0x40)
  const flags = (clean ? 0x02 : 0) | (will === undefined ? 0 : 0x04) | shown
  const head = Buffer.concat([text('MQTT'), Buffer.of(version, flags, 0, 0), version === 5 ? own : Buffer.alloc(0)])
  const last = will === undefined ? [] : [will.properties ?? properties(), text(will.topic), binary(will.payload)]
  return packet(0x10, head, text(clientId), ...(version === 5 ? last : last.slice(1)), ...proof)
}

export interface PublishOptions {
  readonly qos?: 0 | 1 | 2
  readonly retain?: boolean
  readonly id?: number
  readonly properties?: Buffer
}

export function publish(topic: string, payload: Uint8Array, options: PublishOptions = {}): Buffer {
  const { qos = 0, retain = false, id = 1, properties: own = properties() } = options
  const head = 0x30 | (qos << 1) | (retain ? 1 : 0)
  return packet(head, text(topic), qos === 0 ? Buffer.alloc(0) : uint16(id), own, payload)
}

export const subscribe = (filters: readonly string[], id = 1, options = 0): Buffer =>
  packet(0x82, uint16(id), properties(), ...filters.map(filter => Buffer.concat([text(filter), Buffer.of(options)])))

/** AUTH; 0x19 begins anew, 0x18 goes on. */
export const auth = (method: string, data: string, reasonCode = 0x19): Buffer => {
  const { authenticationMethod, authenticationData } = PROPERTY
  return packet(0xf0, Buffer.of(reasonCode), properties(authenticationMethod(method), authenticationData(data)))
}

export const acknowledge = (id: number): Buffer => packet(0x40, uint16(id))
export const disconnect = (...own: readonly Uint8Array[]): Buffer => packet(0xe0, Buffer.of(0), properties(...own))
export const PING = Buffer.of(0xc0, 0)

export const responseTopicOf = (clientId: string): string =>
  `clients/${clientId}/services/statestore/_any_/command/invoke/response`

/** The filter for all notifications of a client. */
export const notificationsOf = (clientId: string): string =>
  `clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/${toHex(utf8(clientId))}/command/notify/+`

/** A request to the store. */
export function request(clientId: string, payload: Uint8Array, id = 1, ...more: readonly Buffer[]): Buffer {
  const own = properties(
    PROPERTY.responseTopic(responseTopicOf(clientId)),
    PROPERTY.correlationData(String(id)),
    PROPERTY.user('__ts', `${Date.now()}:0:${clientId}`),
    ...more,
  )
  return publish(INVOKE_TOPIC, payload, { qos: 1, id, properties: own })
}
