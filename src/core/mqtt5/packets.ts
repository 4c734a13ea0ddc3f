import type { ReasonCode } from './reason-codes.js'

/** Protocol level of a connection: 4 is MQTT 3.1.1, 5 is MQTT 5.0 (section 3.1.2.2). */
export type Version = 4 | 5

/** Quality of service (MQTT 5.0, section 4.3). */
export type Qos = 0 | 1 | 2

/** User properties in the received order. Names may repeat (MQTT 5.0, section 2.2.2.2). */
export type UserProperties = readonly (readonly [name: string, value: string])[]

/** The message that the broker publishes if the client disconnects abnormally (MQTT 5.0, section 3.1.2.5). */
export interface Will extends Incoming {
  readonly retain: boolean
  /** In seconds. */
  readonly delay: number
  /** Encoded properties that a PUBLISH forwards unchanged, without delay and expiry. */
  readonly carried: Uint8Array
}

/** CONNECT (MQTT 5.0, section 3.1), with defaults applied. */
export interface Connect {
  readonly type: 'connect'
  readonly version: Version
  readonly cleanStart: boolean
  /** In seconds; 0 for none. */
  readonly keepAlive: number
  /** Empty if the broker should assign an id. */
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  readonly will: Will | undefined
  /** In seconds. With MQTT 3.1.1: 0 for a clean session, 0xffffffff otherwise. */
  readonly sessionExpiry: number
  readonly receiveMaximum: number
  /** In bytes; `undefined` for no limit. */
  readonly maximumPacketSize: number | undefined
  readonly topicAliasMaximum: number
  readonly requestResponseInformation: boolean
  readonly requestProblemInformation: boolean
  readonly authenticationMethod: string | undefined
  readonly authenticationData: Uint8Array | undefined
  readonly userProperties: UserProperties
}

/** CONNACK (MQTT 5.0, section 3.2). The code is translated for MQTT 3.1.1. */
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

/** Delivery options of a filter (MQTT 5.0, section 3.8.3.1). */
export interface SubscriptionOptions {
  readonly qos: Qos
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** 0: send retained messages. 1: send them only if the subscription is new. 2: do not send them. */
  readonly retainHandling: 0 | 1 | 2
}

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

/**
 * SUBACK and UNSUBACK (MQTT 5.0, sections 3.9 and 3.11). For MQTT 3.1.1, failures become 0x80 and an UNSUBACK has no
 * codes.
 */
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
  /** In seconds. */
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

/** Packets of a client except PUBLISH, which `PublishDecoder` decodes. */
export type ClientPacket = Connect | Acknowledgement | Subscribe | Unsubscribe | Ping | Disconnect | Auth

/** Packets of a broker except PUBLISH, which `PublishEncoder` encodes. */
export type ServerPacket = Connack | Acknowledgement | SubscriptionAcknowledgement | Ping | Disconnect | Auth

/** User properties by name. A repeated name has an array of values. */
export type PropertiesByName = Readonly<Record<string, string | readonly string[]>>

/** Content of a PUBLISH (MQTT 5.0, section 3.3). */
export interface Content {
  readonly payload: Uint8Array
  readonly contentType?: string | undefined
  readonly responseTopic?: string | undefined
  readonly correlationData?: Uint8Array | undefined
  /** In seconds. */
  readonly messageExpiry?: number | undefined
  readonly userProperties: PropertiesByName
  /** Further user properties that many messages share. The same object is encoded only once. */
  readonly commonProperties?: PropertiesByName | undefined
  /** Encoded properties of a forwarded PUBLISH. If set, all other properties except `messageExpiry` are ignored. */
  readonly carried?: Uint8Array | undefined
}

export interface Publish extends Content {
  readonly topic: string
}

/** A PUBLISH of a client, or its will. */
export interface Incoming extends Publish {
  readonly qos: 0 | 1 | 2
  readonly dup?: boolean | undefined
}

/** A received PUBLISH. Its bytes are views of the input. */
export interface InboundPublish extends Incoming {
  readonly dup: boolean
  readonly retain: boolean
  /** 1 to 65,535; 0 with QoS 0. */
  readonly packetId: number
  /** An alias for the topic; with an empty topic it stands for the topic of an earlier message (section 3.3.2.3.4). */
  readonly topicAlias?: number | undefined
  /** Identifiers of the matching subscriptions (section 3.3.2.3.8); a client must not send any. */
  readonly subscriptionIds: readonly number[]
  /**
   * Encoded properties except alias, expiry and subscription identifiers (section 3.3.2-18 and others). Empty if
   * received from a server, because a client forwards nothing.
   */
  readonly carried: Uint8Array
}

/** Delivery options, which may differ between the receivers of a content. */
export interface Envelope {
  /** 1 to 65,535; 0 with QoS 0. */
  readonly packetId: number
  readonly qos: 0 | 1 | 2
  readonly dup: boolean
  readonly retain: boolean
  /** In seconds; overrides the expiry of the content. */
  readonly messageExpiry: number | undefined
  readonly subscriptionIds: readonly number[]
  /** Sent with the topic to define an alias, or with an empty topic to use one. */
  readonly topicAlias: number | undefined
  /** Protocol version of the receiver; 4 has no properties. */
  readonly version: 4 | 5
}
