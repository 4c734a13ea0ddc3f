import type { Connect, Incoming } from '../../../core/mqtt5/packets.js'
import type { Client, PublishRejection } from '../../../core/mqtt5/peer.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import type { Cut } from '../../../node/net/audit.js'
import type { Link } from './link.js'

/** Somebody who wants to be let in, or, with enhanced authentication, to stay. */
export interface ConnectCredentials {
  readonly connect: Connect
  readonly link: Pick<Link, 'remoteAddress' | 'transport' | 'secure'>
  /** What the client has to say in this step of enhanced authentication (MQTT 5.0, section 4.12). */
  readonly data: Uint8Array | undefined
  /** What the last step left behind; `undefined` in the first. */
  readonly state: unknown
  /** Aborted when the client goes. */
  readonly signal: AbortSignal
}

/** Whom a session belongs to, and who alone may take it over. */
export interface SessionOwner {
  readonly id: string
  /** Whether it may be connected at all. */
  readonly canConnect: boolean
  /** Whether it may subscribe to a filter, now that there may be other rules than when it did. */
  maySubscribe(filter: string): boolean
  /** Whether it may get a message with this topic that waits for it. */
  canReceive(topic: string): boolean
}

/** A client is let in, or may stay. */
export interface Accepted {
  readonly type: 'accepted'
  readonly data?: Uint8Array | undefined
  /** Without one everybody has the same rights, and any client that knows a client id may take its session over. */
  readonly owner?: SessionOwner | undefined
  /** When the connection ends unless the client proves anew who it is, ms since the Unix epoch; default never. */
  readonly expiresAt?: number | undefined
}

/** A client is not let in, or may not stay. */
export interface Refused {
  readonly type: 'refused'
  readonly reasonCode: ReasonCode
  readonly reason: string
  /** Where to go instead, with `useAnotherServer` or `serverMoved` (MQTT 5.0, section 4.11). */
  readonly serverReference?: string
}

/** What is made of credentials. */
export type Verdict =
  | Accepted
  /** Enhanced authentication goes on: `data` is for the client, `state` comes back with its answer. */
  | { readonly type: 'continue'; readonly data: Uint8Array; readonly state: unknown }
  | Refused

/** What a broker asks of the service it works for. */
export interface BrokerHandler {
  /** The topic of its own: it takes what is published there, and subscribers do not get it. */
  readonly topic: string
  /** Whom to let in. Without it everybody, but for those who ask for enhanced authentication. */
  authenticate?(client: Client, credentials: ConnectCredentials): Verdict | Promise<Verdict>
  /** Whether and why a PUBLISH is refused, to whatever topic; of a last will it is asked when the client connects. */
  checkPublish(client: Client, message: Incoming): PublishRejection | undefined
  /**
   * Takes a PUBLISH to its topic. The bytes are views of what was read. Returns whether an answer comes as soon as what the
   * event loop has read is worked off: what is written to the client until then may leave with it.
   */
  handlePublish(client: Client, message: Incoming): boolean
  maySubscribe(client: Client, filter: string): boolean
  /** Below what topics a client may expect responses, if it asks for it (MQTT 5.0, section 3.2.2.3.15). */
  responseInformation?(clientId: string): string
  onConnected(client: Client): void
  /** A client that was accepted is not let in after all. */
  onAdmissionRejected?(client: Client, reason: string): void
  /** Whether a client has something by a right that it has no more; its connection ends then. */
  hasForbiddenWatch?(client: Client): boolean
  onDisconnected(client: Client): void
  /** What a client asked for would be more than there may be, and was refused. */
  onQuotaExceeded?(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void
  /** A network connection was ended for a limit. @param client - whose it was, if it was taken at all */
  onConnectionCut?(cut: Cut, client?: Client): void
  /** An error of ours in what a client asked for; its connection has ended. */
  onError(error: unknown, clientId: string): void
}
