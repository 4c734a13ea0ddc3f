import type { QoS } from 'mqtt-packet'

export type Version = 4 | 5

export const CLIENTS = ['ann', 'bob', 'cyd'] as const
export type ClientName = (typeof CLIENTS)[number]

/** What makes a message more than its bytes; expiry in s. */
export interface MessageProperties {
  readonly userProperties?: Record<string, string | string[]>
  readonly contentType?: string
  readonly responseTopic?: string
  readonly correlationData?: string
  readonly payloadFormatIndicator?: boolean
  readonly messageExpiryInterval?: number
}

/** Something to publish, now or as a will. The number, which is in its payload, is its own in the script. */
export interface Message {
  readonly number: number
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
  /** Bytes; 0 takes a retained message away. */
  readonly size: number
  readonly properties: MessageProperties
}

export interface Will extends Message {
  /** s. */
  readonly delay: number
}

export interface Filter {
  readonly filter: string
  readonly qos: QoS
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: 0 | 1 | 2
}

/** Which of the messages that come a client answers of itself: all, none, or QoS 2 but for the end of it. */
export type Answers = 'all' | 'none' | 'half'

/** Where a QoS 2 exchange is broken off, to be taken up in the next connection. */
export type Break = 'after PUBLISH' | 'after PUBREC' | 'after PUBREL'

export interface Connect {
  readonly do: 'connect'
  readonly client: ClientName
  readonly version: Version
  readonly clean: boolean
  /** s. */
  readonly expiry: number
  readonly receiveMaximum?: number
  readonly maximumPacketSize?: number
  readonly topicAliasMaximum?: number
  readonly answers: Answers
  readonly will?: Will
}

export interface Publish {
  readonly do: 'publish'
  readonly client: ClientName
  readonly message: Message
  readonly alias?: number
  /** The acknowledgement is not heard, so that it is sent again when the session is resumed. */
  readonly unheard?: boolean
}

export interface BrokenPublish {
  readonly do: 'publish, broken off'
  readonly client: ClientName
  readonly message: Message
  readonly when: Break
}

export interface Subscribe {
  readonly do: 'subscribe'
  readonly client: ClientName
  readonly filters: readonly Filter[]
  readonly identifier?: number
}

export type Step =
  | Connect
  | Publish
  | BrokenPublish
  | Subscribe
  | { readonly do: 'unsubscribe'; readonly client: ClientName; readonly filters: readonly string[] }
  | { readonly do: 'disconnect'; readonly client: ClientName; readonly withWill: boolean; readonly expiry?: number }
  | { readonly do: 'cut'; readonly client: ClientName }
  | { readonly do: 'answer'; readonly client: ClientName }

/**
 * What a script is about. `disjoint`: no message matches two filters, so that windows and withheld acknowledgements can
 * be compared packet by packet. `overlapping`: all kinds of filters. `shared`: groups, whose members are all connected.
 */
export type Flavour = 'disjoint' | 'overlapping' | 'shared'

export interface Script {
  readonly seed: number
  readonly flavour: Flavour
  readonly steps: readonly Step[]
}
