// MQTT packets without the encoder under test, built byte by byte, so that any byte can be wrong.

export type Version = 4 | 5
export type Bytes = Uint8Array | readonly number[]

const join = (...parts: readonly Bytes[]): Buffer => Buffer.concat(parts.map(part => Buffer.from(part)))

export const uint16 = (value: number): Buffer => Buffer.of(value >> 8, value & 0xff)
const uint32 = (value: number): Buffer => join(uint16(value >>> 16), uint16(value & 0xffff))

/** Encodes a variable byte integer (MQTT 5.0, section 1.5.5). */
export const variable = (value: number): Buffer =>
  value < 128 ? Buffer.of(value) : join([(value % 128) | 128], variable(Math.floor(value / 128)))

/** Encodes bytes with a length prefix. */
export const binary = (value: Bytes): Buffer => join(uint16(value.length), value)
/** Encodes a string as UTF-8, or raw bytes, with a length prefix. */
export const text = (value: string | Bytes): Buffer => binary(typeof value === 'string' ? Buffer.from(value) : value)

/** Encodes a packet from its first byte and the content after the length. */
export function packet(header: number, ...parts: readonly Bytes[]): Buffer {
  const body = join(...parts)
  return join([header], variable(body.length), body)
}

/** Encodes properties with a length prefix. */
export function properties(...all: readonly Bytes[]): Buffer {
  const body = join(...all)
  return join(variable(body.length), body)
}

/** Encoders of properties, each with identifier and value (MQTT 5.0, section 2.2.2.2). */
export const PROPERTY = {
  payloadFormat: (value: number): Buffer => join([0x01, value]),
  messageExpiry: (s: number): Buffer => join([0x02], uint32(s)),
  contentType: (value: string): Buffer => join([0x03], text(value)),
  responseTopic: (value: string): Buffer => join([0x08], text(value)),
  correlationData: (value: string | Bytes): Buffer => join([0x09], text(value)),
  subscriptionId: (value: number): Buffer => join([0x0b], variable(value)),
  sessionExpiry: (s: number): Buffer => join([0x11], uint32(s)),
  authenticationMethod: (value: string): Buffer => join([0x15], text(value)),
  authenticationData: (value: string | Bytes): Buffer => join([0x16], text(value)),
  requestProblemInformation: (value: number): Buffer => join([0x17, value]),
  willDelay: (s: number): Buffer => join([0x18], uint32(s)),
  requestResponseInformation: (value: number): Buffer => join([0x19, value]),
  serverReference: (value: string): Buffer => join([0x1c], text(value)),
  reasonString: (value: string): Buffer => join([0x1f], text(value)),
  receiveMaximum: (value: number): Buffer => join([0x21], uint16(value)),
  topicAliasMaximum: (value: number): Buffer => join([0x22], uint16(value)),
  topicAlias: (value: number): Buffer => join([0x23], uint16(value)),
  user: (name: string, value: string): Buffer => join([0x26], text(name), text(value)),
  maximumPacketSize: (value: number): Buffer => join([0x27], uint32(value)),
} as const

export interface ConnectOptions {
  /** Whether to start clean. The default is true. */
  readonly clean?: boolean
  readonly properties?: Bytes
  readonly will?: { readonly topic: string; readonly payload: Bytes; readonly properties?: Bytes }
  readonly username?: string
  readonly password?: string
  /** The protocol version. The default is 5. */
  readonly version?: number
  /** The protocol name. The default is `MQTT`. */
  readonly name?: string
  /** The client id with a length prefix, which replaces the correct encoding. */
  readonly encodedClientId?: Bytes
  /** Replaces the correct flags. */
  readonly flags?: number
  /** Replaces the payload after the client id. */
  readonly rest?: Bytes
}

/** Encodes a CONNECT without keep-alive. */
export function connect(clientId: string, options: ConnectOptions = {}): Buffer {
  const { clean = true, version = 5, name = 'MQTT', will, username, password } = options
  const { properties: own = version === 5 ? properties() : [] } = options
  const ofUser = (username === undefined ? 0 : 0x80) | (password === undefined ? 0 : 0x40)
  const { flags = (clean ? 0x02 : 0) | (will === undefined ? 0 : 0x04) | ofUser } = options
  const { encodedClientId = text(clientId) } = options
  const ofWill = will && join(text(will.topic), binary(will.payload))
  const told = [
    ...(ofWill ? [version === 5 ? (will.properties ?? properties()) : [], ofWill] : []),
    ...[username, password].flatMap(word => (word === undefined ? [] : [text(word)])),
  ]
  const { rest = join(...told) } = options
  return packet(0x10, text(name), [version, flags, 0, 0], own, encodedClientId, rest)
}

export interface PublishOptions {
  readonly qos?: 0 | 1 | 2
  readonly retain?: boolean
  readonly id?: number
  readonly properties?: Bytes
}

export function publish(topic: string, payload: string | Uint8Array, options: PublishOptions = {}): Buffer {
  const { qos = 0, retain = false, id = 1, properties: own = properties() } = options
  const header = 0x30 | (qos << 1) | (retain ? 1 : 0)
  return packet(header, text(topic), qos === 0 ? [] : uint16(id), own, Buffer.from(payload))
}

export const subscribe = (filters: readonly string[], id = 1, options = 0): Buffer =>
  packet(0x82, uint16(id), properties(), ...filters.map(filter => join(text(filter), [options])))

export const unsubscribe = (filters: readonly string[], id = 1): Buffer =>
  packet(0xa2, uint16(id), properties(), ...filters.map(text))

/** Encodes an AUTH. 0x19 re-authenticates, and 0x18 continues. */
export const auth = (method: string, data: string, reasonCode = 0x19): Buffer => {
  const { authenticationMethod, authenticationData } = PROPERTY
  return packet(0xf0, [reasonCode], properties(authenticationMethod(method), authenticationData(data)))
}

export const acknowledge = (id: number): Buffer => packet(0x40, uint16(id))
export const disconnect = (...own: readonly Bytes[]): Buffer => packet(0xe0, [0], properties(...own))
export const PINGREQ = packet(0xc0)
