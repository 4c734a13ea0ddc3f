import type { QoS } from 'mqtt-packet'

export type Version = 4 | 5

export const CLIENTS = ['ann', 'bob', 'cyd'] as const
export type ClientName = (typeof CLIENTS)[number]

/** A message's properties. `expiry` is in seconds. */
export interface MessageProperties {
  readonly userProperties?: Record<string, string | string[]>
  readonly contentType?: string
  readonly responseTopic?: string
  readonly correlationData?: string
  readonly payloadFormatIndicator?: boolean
  readonly messageExpiryInterval?: number
}

/**
 * A message to publish, immediately or as a will. The payload contains the message's number, which is unique in the
 * script.
 */
export interface Message {
  readonly number: number
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
  /** The payload size in bytes. A size of 0 deletes a retained message. */
  readonly size: number
  readonly properties: MessageProperties
}

export interface Will extends Message {
  /** In seconds. */
  readonly delay: number
}

export interface Filter {
  readonly filter: string
  readonly qos: QoS
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: 0 | 1 | 2
}

/** The packets that a client acknowledges automatically: all, none, or all except PUBCOMP (`half`). */
export type Answers = 'all' | 'none' | 'half'

/** The point at which a QoS 2 exchange is broken off before the next connection continues it. */
export type Break = 'after PUBLISH' | 'after PUBREC' | 'after PUBREL'

export interface Connect {
  readonly do: 'connect'
  readonly client: ClientName
  readonly version: Version
  readonly clean: boolean
  /** In seconds. */
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
 * The subject of a script. `disjoint`: no message matches two filters, so that windows and withheld acknowledgements
 * can be compared packet by packet. `overlapping`: filters of all kinds. `shared`: groups whose members are all
 * connected.
 */
export type Flavour = 'disjoint' | 'overlapping' | 'shared'

export interface Script {
  readonly seed: number
  readonly flavour: Flavour
  readonly steps: readonly Step[]
}
