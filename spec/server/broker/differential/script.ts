import type { QoS } from 'mqtt-packet'

export type Version = 4 | 5

export const CLIENTS = ['ann', 'bob', 'cyd'] as const
export type ClientName = (typeof CLIENTS)[number]

/** Properties of a message; expiry in s. */
export interface MessageProperties {
  readonly userProperties?: Record<string, string | string[]>
  readonly contentType?: string
  readonly responseTopic?: string
  readonly correlationData?: string
  readonly payloadFormatIndicator?: boolean
  readonly messageExpiryInterval?: number
}

/** A message to publish, now or as a will. Its number is unique in the script and is in the payload. */
export interface Message {
  readonly number: number
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
  /** Payload size, bytes; 0 deletes a retained message. */
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

/** Which packets a client acknowledges automatically: all, none, or with `half` all except PUBCOMP. */
export type Answers = 'all' | 'none' | 'half'

/** Where a QoS 2 exchange is broken off before the next connection continues it. */
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
  /** Whether the acknowledgement is lost, so that the resumed session retransmits the message. */
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
