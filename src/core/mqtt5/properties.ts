import { type PacketType, TYPES } from './packet-type.js'
import type { UserProperties } from './packets.js'
import * as PROPERTY from './property-ids.js'

/** What has properties: a packet, or the will of a CONNECT. */
export type Holder = PacketType | 'will'

// Packet type 0 does not exist.
const bitOf = (holder: Holder): number => 1 << (holder === 'will' ? 0 : TYPES[holder])
const bits = (...holders: Holder[]): number => holders.reduce((sum, holder) => sum | bitOf(holder), 0)

const message = bits('publish', 'will')
const answer = bits('connack', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'suback', 'unsuback', 'disconnect', 'auth')

/**
 * The properties of MQTT 5.0, section 2.2.2.2: type, and the packets that may have it. `bit` and `flag` are a byte of 0 or 1;
 * what is `positive` is not 0.
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
  { name: 'reasonString', id: PROPERTY.reasonString, type: 'text', in: answer },
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
    in: message | answer | bits('connect', 'subscribe', 'unsubscribe'),
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

/** A row of the table of properties. */
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

/** Properties by name; what is absent is `undefined`. */
export type Properties = { [P in Property as P['name']]?: ValueOf[P['type']] | undefined }

const byIdentifier: (Property | undefined)[] = []
for (const property of PROPERTIES) byIdentifier[property.id] = property

/** The property of an identifier, if there is one and its holder may have it. */
export function propertyOf(identifier: number, holder: Holder): Property | undefined {
  const property = byIdentifier[identifier]
  return property !== undefined && (property.in & bitOf(holder)) !== 0 ? property : undefined
}

/** All properties that a holder may have. */
export const propertiesIn = (holder: Holder): Property[] => PROPERTIES.filter(row => (row.in & bitOf(holder)) !== 0)
