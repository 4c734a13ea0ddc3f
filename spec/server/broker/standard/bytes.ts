/** MQTT packets by hand, right or wrong (MQTT 5.0, sections 1.5 and 2). */

/** Two bytes, the higher first. */
export const two = (value: number): number[] => [value >> 8, value & 0xff]

export const four = (value: number): number[] => [...two(value >>> 16), ...two(value & 0xffff)]

/** Bytes behind their length. */
export const binary = (...bytes: readonly number[]): number[] => [...two(bytes.length), ...bytes]

export const text = (value: string): number[] => binary(...Buffer.from(value))

/** A variable byte integer. */
export function count(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...count(Math.floor(value / 128))]
}

/** A packet: first byte, remaining length, the rest. */
export function frame(header: number, ...parts: readonly (readonly number[])[]): Buffer {
  const rest = parts.flat()
  return Buffer.from([header, ...count(rest.length), ...rest])
}

/** Properties behind their length. */
export const properties = (...each: readonly (readonly number[])[]): number[] => [
  ...count(each.flat().length),
  ...each.flat(),
]

/** A property: identifier and value (2.2.2.2). */
export const property = {
  payloadFormat: (value: number): number[] => [0x01, value],
  messageExpiry: (seconds: number): number[] => [0x02, ...four(seconds)],
  contentType: (value: string): number[] => [0x03, ...text(value)],
  responseTopic: (topic: string): number[] => [0x08, ...text(topic)],
  correlationData: (...bytes: readonly number[]): number[] => [0x09, ...binary(...bytes)],
  subscriptionIdentifier: (value: number): number[] => [0x0b, ...count(value)],
  sessionExpiry: (seconds: number): number[] => [0x11, ...four(seconds)],
  assignedClientId: (id: string): number[] => [0x12, ...text(id)],
  authenticationMethod: (method: string): number[] => [0x15, ...text(method)],
  authenticationData: (...bytes: readonly number[]): number[] => [0x16, ...binary(...bytes)],
  requestProblemInformation: (value: number): number[] => [0x17, value],
  willDelay: (seconds: number): number[] => [0x18, ...four(seconds)],
  requestResponseInformation: (value: number): number[] => [0x19, value],
  serverReference: (value: string): number[] => [0x1c, ...text(value)],
  reasonString: (value: string): number[] => [0x1f, ...text(value)],
  receiveMaximum: (value: number): number[] => [0x21, ...two(value)],
  topicAlias: (value: number): number[] => [0x23, ...two(value)],
  user: (name: string, value: string): number[] => [0x26, ...text(name), ...text(value)],
  maximumPacketSize: (value: number): number[] => [0x27, ...four(value)],
} as const

export interface RawConnect {
  readonly name?: readonly number[]
  readonly version?: number
  readonly flags?: number
  readonly keepAlive?: number
  readonly properties?: readonly number[]
  readonly clientId?: readonly number[]
  /** What follows the client id: will, user name, password. */
  readonly rest?: readonly number[]
}

let clients = 0

/** A CONNECT that is right but for what is given; MQTT 5, clean start. */
export function connect(wrong: RawConnect = {}): Buffer {
  const { name = text('MQTT'), version = 5, flags = 0x02, keepAlive = 0, rest = [] } = wrong
  const { clientId = text(`raw-${++clients}`) } = wrong
  const { properties: given = version === 5 ? properties() : [] } = wrong
  return frame(0x10, name, [version, flags], two(keepAlive), given, clientId, rest)
}

/** UTF-8 that is none: overlong, cut short, a surrogate, NUL (1.5.4). */
export const NOT_UTF8 = {
  'an overlong slash': [0xc0, 0xaf],
  'half a character': [0x61, 0xe2, 0x82],
  'a surrogate': [0xed, 0xa0, 0x80],
  'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
  'a NUL': [0x61, 0x00],
} as const
