import type { BrokerConnection } from './connection.js'
import type { InboundMessage } from './message.js'

/** Why a PUBLISH is refused; with `disconnect`, an MQTT 5 reason code, the connection ends as well. */
export interface PublishRefusal {
  readonly reason: string
  readonly disconnect?: number
}

/** What a broker asks of whoever it works for. */
export interface BrokerHandler {
  /** The topic of its own: what is published there it takes, and nobody else gets it. */
  readonly topic: string
  /** Whether and why a PUBLISH is refused, to whatever topic. It may be asked twice. */
  refuse(connection: BrokerConnection, message: InboundMessage): PublishRefusal | undefined
  /** Takes a PUBLISH to its topic. The bytes are views of what was read. */
  take(connection: BrokerConnection, message: InboundMessage): void
  maySubscribe(connection: BrokerConnection, filter: string): boolean
  connected(connection: BrokerConnection): void
  disconnected(connection: BrokerConnection): void
}
