import { isBytes } from '../util/built-in-types.js'
import { type MqttReader, type MqttWriter, putVarint, sizeOfVarint } from './data-types.js'
import { malformed, protocolError } from './packet-error.js'
import { type PacketType, TYPES } from './packet-types.js'
import type { UserProperties, Version } from './packets.js'
import * as PROPERTY from './properties.js'
import { checkUserProperties, type ForwardedProperties } from './properties.js'

export type PropertyOwner = PacketType | 'will'

// Bit 0 stands for a will, because packet type 0 does not exist.
const bitOf = (owner: PropertyOwner): number => 1 << (owner === 'will' ? 0 : TYPES[owner])
const bits = (...holders: PropertyOwner[]): number => holders.reduce((sum, owner) => sum | bitOf(owner), 0)

const message = bits('publish', 'will')
const response = bits('connack', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'suback', 'unsuback', 'disconnect', 'auth')

/**
 * The properties of MQTT 5.0, section 2.2.2.2, each with its type and the packets that may contain it. `bit` and `flag`
 * are bytes of 0 or 1; a `positive` value must not be 0.
 */
const PROPERTIES = [
  { name: 'payloadFormat', id: PROPERTY.payloadFormat, type: 'bit', in: message },
  { name: 'messageExpiry', id: PROPERTY.messageExpiry, type: 'uint32', in: message },
  { name: 'contentType', id: PROPERTY.contentType, type: 'text', in: message },
  { name: 'responseTopic', id: PROPERTY.responseTopic, type: 'text', in: message },
  { name: 'correlationData', id: PROPERTY.correlationData, type: 'binary', in: message },
  {
    name: 'subscriptionId',
    id: PROPERTY.subscriptionId,
    type: 'varint',
    in: bits('publish', 'subscribe'),
    positive: true,
  },
  { name: 'sessionExpiry', id: PROPERTY.sessionExpiry, type: 'uint32', in: bits('connect', 'connack', 'disconnect') },
  { name: 'assignedClientId', id: PROPERTY.assignedClientId, type: 'text', in: bits('connack') },
  { name: 'serverKeepAlive', id: PROPERTY.serverKeepAlive, type: 'uint16', in: bits('connack') },
  {
    name: 'authenticationMethod',
    id: PROPERTY.authenticationMethod,
    type: 'text',
    in: bits('connect', 'connack', 'auth'),
  },
  {
    name: 'authenticationData',
    id: PROPERTY.authenticationData,
    type: 'binary',
    in: bits('connect', 'connack', 'auth'),
  },
  { name: 'requestProblemInformation', id: PROPERTY.requestProblemInformation, type: 'flag', in: bits('connect') },
  { name: 'willDelay', id: PROPERTY.willDelay, type: 'uint32', in: bits('will') },
  { name: 'requestResponseInformation', id: PROPERTY.requestResponseInformation, type: 'flag', in: bits('connect') },
  { name: 'responseInformation', id: PROPERTY.responseInformation, type: 'text', in: bits('connack') },
  { name: 'serverReference', id: PROPERTY.serverReference, type: 'text', in: bits('connack', 'disconnect') },
  { name: 'reasonString', id: PROPERTY.reasonString, type: 'text', in: response },
  {
    name: 'receiveMaximum',
    id: PROPERTY.receiveMaximum,
    type: 'uint16',
    in: bits('connect', 'connack'),
    positive: true,
  },
  { name: 'topicAliasMaximum', id: PROPERTY.topicAliasMaximum, type: 'uint16', in: bits('connect', 'connack') },
  { name: 'topicAlias', id: PROPERTY.topicAlias, type: 'uint16', in: bits('publish'), positive: true },
  { name: 'maximumQos', id: PROPERTY.maximumQos, type: 'bit', in: bits('connack') },
  { name: 'retainAvailable', id: PROPERTY.retainAvailable, type: 'flag', in: bits('connack') },
  {
    name: 'userProperties',
    id: PROPERTY.userProperties,
    type: 'pair',
    in: message | response | bits('connect', 'subscribe', 'unsubscribe'),
  },
  {
    name: 'maximumPacketSize',
    id: PROPERTY.maximumPacketSize,
    type: 'uint32',
    in: bits('connect', 'connack'),
    positive: true,
  },
  {
    name: 'wildcardSubscriptionAvailable',
    id: PROPERTY.wildcardSubscriptionAvailable,
    type: 'flag',
    in: bits('connack'),
  },
  { name: 'subscriptionIdsAvailable', id: PROPERTY.subscriptionIdsAvailable, type: 'flag', in: bits('connack') },
  { name: 'sharedSubscriptionAvailable', id: PROPERTY.sharedSubscriptionAvailable, type: 'flag', in: bits('connack') },
] as const

export type Property = (typeof PROPERTIES)[number]

interface ValueOf {
  bit: number
  flag: boolean
  uint16: number
  uint32: number
  varint: number
  text: string
  binary: Uint8Array
  pair: UserProperties
}

export type Properties = { [P in Property as P['name']]?: ValueOf[P['type']] | undefined }

const byIdentifier: (Property | undefined)[] = []
for (const property of PROPERTIES) byIdentifier[property.id] = property

export function propertyOf(identifier: number, owner: PropertyOwner): Property | undefined {
  const property = byIdentifier[identifier]
  return property !== undefined && (property.in & bitOf(owner)) !== 0 ? property : undefined
}

export const propertiesIn = (owner: PropertyOwner): Property[] =>
  PROPERTIES.filter(row => (row.in & bitOf(owner)) !== 0)

const NO_PROPERTIES: Properties = Object.freeze({})

export const NO_PAIRS: readonly (readonly [string, string])[] = Object.freeze([])

/**
 * Reads the properties of a packet or a will (MQTT 5.0, section 2.2.2); MQTT 3.1.1 has none. An identifier that is
 * unknown or not allowed is malformed (section 2.2.2.2); a repeated property is a protocol error.
 *
 * @param forwarded - notified of properties that are not forwarded
 */
export function readProperties(
  reader: MqttReader,
  version: Version,
  owner: PropertyOwner,
  forwarded?: ForwardedProperties,
): Properties {
  const length = version === 4 ? 0 : reader.varint()
  forwarded?.begin(reader.at)
  if (length === 0) return NO_PROPERTIES
  const outer = reader.end
  const end = reader.at + length
  if (end > outer) throw malformed('The properties run past the end of their packet')
  reader.end = end
  const read = new PropertiesReader(reader, owner)
  while (reader.at < end) read.next(forwarded)
  reader.end = outer
  return read.properties
}

class PropertiesReader {
  readonly properties: Properties = {}
  readonly #reader: MqttReader
  readonly #owner: PropertyOwner
  readonly #pairs: [string, string][] = []

  constructor(reader: MqttReader, owner: PropertyOwner) {
    this.#reader = reader
    this.#owner = owner
  }

  next(forwarded: ForwardedProperties | undefined): void {
    const from = this.#reader.at
    const identifier = this.#reader.varint()
    const property = propertyOf(identifier, this.#owner)
    if (property === undefined) throw malformed(`Property ${identifier} is not allowed in ${this.#owner}`)
    this.#read(property)
    if (identifier === PROPERTY.messageExpiry || identifier === PROPERTY.willDelay)
      forwarded?.skip(from, this.#reader.at)
  }

  #read(property: Property): void {
    const { properties } = this
    if (property.type === 'pair') {
      checkUserProperties(this.#pairs.length + 1, this.#reader.maxUserProperties)
      this.#pairs.push([this.#reader.text(), this.#reader.text()])
      properties.userProperties = this.#pairs
      return
    }
    if (properties[property.name] !== undefined) throw protocolError(`${property.name} is repeated`)
    if (property.type === 'text') properties[property.name] = this.#reader.text()
    else if (property.type === 'binary') properties[property.name] = this.#reader.binary()
    else if (property.type === 'flag') properties[property.name] = this.#checkedNumber(property) === 1
    else properties[property.name] = this.#checkedNumber(property)
  }

  #checkedNumber(property: Property): number {
    const value = this.#readNumber(property.type)
    if ('positive' in property && value === 0) throw protocolError(`${property.name} is 0`)
    const boolean = property.type === 'bit' || property.type === 'flag'
    if (boolean && value > 1) throw protocolError(`${property.name} is ${value}, neither 0 nor 1`)
    return value
  }

  #readNumber(type: Property['type']): number {
    if (type === 'uint16') return this.#reader.uint16()
    if (type === 'uint32') return this.#reader.uint32()
    return type === 'varint' ? this.#reader.varint() : this.#reader.byte()
  }
}

/** Writes the properties that the owner may have (MQTT 5.0, section 2.2.2), with their length. */
export function writeProperties(writer: MqttWriter, owner: PropertyOwner, properties: Properties): void {
  const start = writer.at
  for (const property of propertiesIn(owner)) writeProperty(writer, property, properties[property.name])
  const length = writer.at - start
  const size = sizeOfVarint(length)
  writer.reserve(size)
  writer.bytes.copyWithin(start + size, start, writer.at)
  putVarint(writer.bytes, start, length)
  writer.at += size
}

function writeProperty(writer: MqttWriter, property: Property, value: Properties[Property['name']]): void {
  if (value === undefined) return
  if (typeof value !== 'object' || isBytes(value)) writer.byte(property.id)
  if (typeof value === 'string') writer.text(value)
  else if (typeof value === 'boolean') writer.byte(Number(value))
  else if (typeof value === 'number') writeNumber(writer, property.type, value)
  else if (isBytes(value)) writer.binary(value)
  else {
    for (const [name, text] of value) {
      writer.byte(PROPERTY.userProperties)
      writer.text(name)
      writer.text(text)
    }
  }
}

function writeNumber(writer: MqttWriter, type: Property['type'], value: number): void {
  if (type === 'uint16') writer.uint16(value)
  else if (type === 'uint32') {
    writer.uint16(value >>> 16)
    writer.uint16(value & 0xffff)
  } else if (type === 'varint') writer.varint(value)
  else writer.byte(value)
}
