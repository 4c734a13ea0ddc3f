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
