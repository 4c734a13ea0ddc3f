import { type ChannelListener, channelOf } from './channel.js'
import type { ClientWatchEvent, ConnectionEvent, LeaseEvent, RequestTrace } from './client-events.js'
import type {
  LogEvent,
  ServerAccessEvent,
  ServerChangeEvent,
  ServerConnectionEvent,
  ServerPublishEvent,
  ServerRequestTrace,
} from './server-events.js'
import type { TracingStep } from './tracing-channel.js'

export type { ClientWatchEvent, ConnectionEvent, LeaseEvent, RequestTrace, WatchFreshness } from './client-events.js'
export type {
  ConnectionLimit,
  LogEvent,
  ServerAccessEvent,
  ServerChangeEvent,
  ServerConnectionEvent,
  ServerPublishEvent,
  ServerRequestTrace,
} from './server-events.js'
export type { TracingStep } from './tracing-channel.js'

/** The events of clients and stores, by the name of their channel. */
export type DiagnosticEvents = {
  readonly 'rx-statestore:connection': ConnectionEvent
  readonly 'rx-statestore:watch': ClientWatchEvent
  readonly 'rx-statestore:lease': LeaseEvent
  readonly 'rx-statestore:server:change': ServerChangeEvent
  readonly 'rx-statestore:server:connection': ServerConnectionEvent
  readonly 'rx-statestore:server:publish': ServerPublishEvent
  readonly 'rx-statestore:server:access': ServerAccessEvent
  readonly 'rx-statestore:log': LogEvent
} & { readonly [Name in `tracing:rx-statestore:request:${TracingStep}`]: RequestTrace } & {
  readonly [Name in `tracing:rx-statestore:server:request:${TracingStep}`]: ServerRequestTrace
}

/**
 * Calls `listener` synchronously with each event of a channel, of all clients and stores of the process or page, until
 * the returned function is called. Equal to `subscribe` of `node:diagnostics_channel`, but typed, and in browsers too.
 *
 * @example
 * ```ts
 * const unsubscribe = subscribe('rx-statestore:connection', ({ type, clientId }) => console.log(clientId, type))
 * ```
 */
export function subscribe<Name extends keyof DiagnosticEvents>(
  name: Name,
  listener: (event: DiagnosticEvents[Name]) => void,
): () => void {
  const channel = channelOf(name)
  // A function of its own, so that each subscription ends by itself.
  const listen: ChannelListener = (event: DiagnosticEvents[Name]) => listener(event)
  channel.subscribe(listen)
  return () => {
    channel.unsubscribe(listen)
  }
}
