/** What a PUBLISH carries, as far as requests, responses and notifications need it (MQTT 5.0, section 3.3). */
export interface Content {
  readonly payload: Uint8Array
  readonly contentType?: string | undefined
  readonly responseTopic?: string | undefined
  readonly correlationData?: Uint8Array | undefined
  /** s */
  readonly messageExpiry?: number | undefined
  readonly userProperties: Readonly<Record<string, string>>
}

/** A PUBLISH: a content and where it goes. */
export interface Publish extends Content {
  readonly topic: string
}

/** A PUBLISH that came. Its bytes are views of what was read. */
export interface InboundPublish extends Omit<Publish, 'userProperties'> {
  readonly qos: 0 | 1
  readonly dup: boolean
  readonly retain: boolean
  /** 1 to 65,535; 0 with QoS 0. */
  readonly packetId: number
  /** A name that came more than once has an array. */
  readonly userProperties: Readonly<Record<string, string | readonly string[]>>
}
