import type { ReasonCode } from './reason-codes.js'

/** Protocol level of a connection: 4 is MQTT 3.1.1, 5 is MQTT 5.0 (section 3.1.2.2). */
export type Version = 4 | 5

/** Quality of service (MQTT 5.0, section 4.3). */
export type Qos = 0 | 1 | 2

/** User properties in the order in which they came; names may come more than once (MQTT 5.0, section 2.2.2.2). */
export type UserProperties = readonly (readonly [name: string, value: string])[]

/** What the broker publishes when a client is gone without a word (MQTT 5.0, section 3.1.2.5). */
export interface Will extends Incoming {
  readonly retain: boolean
  /** s */
  readonly delay: number
  /** The properties that a PUBLISH passes on unchanged, encoded as they came: neither delay nor expiry. */
  readonly carried: Uint8Array
}

/** CONNECT (MQTT 5.0, section 3.1), with the defaults of what is absent. */
export interface Connect {
  readonly type: 'connect'
  readonly version: Version
  readonly cleanStart: boolean
  /** s; 0 for none */
  readonly keepAlive: number
  /** Empty: the broker is to assign one. */
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  readonly will: Will | undefined
  /** s; with MQTT 3.1.1 0 for a clean session, 0xffffffff otherwise. */
  readonly sessionExpiry: number
  readonly receiveMaximum: number
  /** bytes; `undefined` for no limit */
  readonly maximumPacketSize: number | undefined
  readonly topicAliasMaximum: number
  readonly requestResponseInformation: boolean
  readonly requestProblemInformation: boolean
  readonly authenticationMethod: string | undefined
  readonly authenticationData: Uint8Array | undefined
  readonly userProperties: UserProperties
}

/** CONNACK (MQTT 5.0, section 3.2). For MQTT 3.1.1 the code is translated to that version's return codes. */
export interface Connack {
  readonly type: 'connack'
  readonly sessionPresent: boolean
  readonly reasonCode: ReasonCode
  readonly sessionExpiry?: number | undefined
  readonly receiveMaximum?: number | undefined
  readonly maximumQos?: 0 | 1 | undefined
  readonly retainAvailable?: boolean | undefined
  readonly maximumPacketSize?: number | undefined
  readonly assignedClientId?: string | undefined
  readonly topicAliasMaximum?: number | undefined
  readonly reasonString?: string | undefined
  readonly userProperties?: UserProperties | undefined
  readonly wildcardSubscriptionAvailable?: boolean | undefined
  readonly subscriptionIdsAvailable?: boolean | undefined
  readonly sharedSubscriptionAvailable?: boolean | undefined
  readonly serverKeepAlive?: number | undefined
  readonly responseInformation?: string | undefined
  readonly serverReference?: string | undefined
  readonly authenticationMethod?: string | undefined
  readonly authenticationData?: Uint8Array | undefined
}

/** PUBACK, PUBREC, PUBREL and PUBCOMP (MQTT 5.0, sections 3.4 to 3.7). */
export interface Acknowledgement {
  readonly type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp'
  readonly packetId: number
  readonly reasonCode: ReasonCode
  readonly reasonString?: string | undefined
  readonly userProperties?: UserProperties | undefined
}

/** How a client wants the messages of a filter (MQTT 5.0, section 3.8.3.1). */
export interface SubscriptionOptions {
  readonly qos: Qos
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** 0: send retained messages; 1: only if the subscription is new; 2: do not. */
  readonly retainHandling: 0 | 1 | 2
}

/** One filter of a SUBSCRIBE. */
export interface SubscriptionRequest extends SubscriptionOptions {
  readonly filter: string
}

/** SUBSCRIBE (MQTT 5.0, section 3.8). */
export interface Subscribe {
  readonly type: 'subscribe'
  readonly packetId: number
  readonly subscriptionId: number | undefined
  readonly userProperties: UserProperties
  readonly subscriptions: readonly SubscriptionRequest[]
}

/** SUBACK and UNSUBACK (MQTT 5.0, sections 3.9 and 3.11); for MQTT 3.1.1 failures become 0x80, an UNSUBACK has no codes. */
export interface SubscriptionAcknowledgement {
  readonly type: 'suback' | 'unsuback'
  readonly packetId: number
  readonly reasonCodes: readonly ReasonCode[]
  readonly reasonString?: string | undefined
  readonly userProperties?: UserProperties | undefined
}

/** UNSUBSCRIBE (MQTT 5.0, section 3.10). */
export interface Unsubscribe {
  readonly type: 'unsubscribe'
  readonly packetId: number
  readonly userProperties: UserProperties
  readonly filters: readonly string[]
}

/** PINGREQ and PINGRESP (MQTT 5.0, sections 3.12 and 3.13). */
export interface Ping {
  readonly type: 'pingreq' | 'pingresp'
}

/** DISCONNECT (MQTT 5.0, section 3.14). */
export interface Disconnect {
  readonly type: 'disconnect'
  readonly reasonCode: ReasonCode
  /** s */
  readonly sessionExpiry?: number | undefined
  readonly reasonString?: string | undefined
  readonly userProperties?: UserProperties | undefined
  readonly serverReference?: string | undefined
}

/** AUTH (MQTT 5.0, section 3.15). */
export interface Auth {
  readonly type: 'auth'
  readonly reasonCode: ReasonCode
  readonly authenticationMethod?: string | undefined
  readonly authenticationData?: Uint8Array | undefined
  readonly reasonString?: string | undefined
  readonly userProperties?: UserProperties | undefined
}

/** What a client may send, but for PUBLISH, which `PublishDecoder` reads. */
export type ClientPacket = Connect | Acknowledgement | Subscribe | Unsubscribe | Ping | Disconnect | Auth

/** What a broker may send, but for PUBLISH, which `PublishEncoder` writes. */
export type ServerPacket = Connack | Acknowledgement | SubscriptionAcknowledgement | Ping | Disconnect | Auth

/** User properties; a name that came more than once has an array. */
export type PropertiesByName = Readonly<Record<string, string | readonly string[]>>

/** What a PUBLISH carries (MQTT 5.0, section 3.3). */
export interface Content {
  readonly payload: Uint8Array
  readonly contentType?: string | undefined
  readonly responseTopic?: string | undefined
  readonly correlationData?: Uint8Array | undefined
  /** s */
  readonly messageExpiry?: number | undefined
  readonly userProperties: PropertiesByName
  /** User properties that many messages have, besides those above: one object for all of them, so that it is encoded once. */
  readonly commonProperties?: PropertiesByName | undefined
  /**
   * The properties of a PUBLISH that is passed on, encoded as they came; then those above are not looked at, but for
   * `messageExpiry`.
   */
  readonly carried?: Uint8Array | undefined
}

/** A PUBLISH: a content and where it goes. */
export interface Publish extends Content {
  readonly topic: string
}

/** What a client publishes, now or as its last will. */
export interface Incoming extends Publish {
  readonly qos: 0 | 1 | 2
  /** It may have come before. */
  readonly dup?: boolean | undefined
}

/** A PUBLISH that came. Its bytes are views of what was read. */
export interface InboundPublish extends Incoming {
  readonly dup: boolean
  readonly retain: boolean
  /** 1 to 65,535; 0 with QoS 0. */
  readonly packetId: number
  /** Stands for the topic from now on; with an empty topic it stands for one that came before (section 3.3.2.3.4). */
  readonly topicAlias?: number | undefined
  /** Of the subscriptions that it matches (section 3.3.2.3.8); a client must not send any. */
  readonly subscriptionIds: readonly number[]
  /**
   * All properties but alias, expiry and subscription identifiers, encoded as they came (section 3.3.2-18 and others). Empty
   * when it came from a server: a client passes nothing on.
   */
  readonly carried: Uint8Array
}

/** What differs from one receiver of a content to the next. */
export interface Envelope {
  /** 1 to 65,535; 0 with QoS 0. */
  readonly packetId: number
  readonly qos: 0 | 1 | 2
  readonly dup: boolean
  readonly retain: boolean
  /** s, in place of that of the content. */
  readonly messageExpiry: number | undefined
  readonly subscriptionIds: readonly number[]
  /** Written beside the topic when it is new to the receiver, or with an empty topic when it is known. */
  readonly topicAlias: number | undefined
  /** 4: no properties at all. */
  readonly version: 4 | 5
}
