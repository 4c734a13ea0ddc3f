import { type ChannelListener, channelOf } from './channel.js'
import type { ClientWatchEvent, ConnectionEvent, LeaseEvent, RequestTrace } from './client-events.js'
import type {
  LogEvent,
  ServerAccessEvent,
  ServerChangeEvent,
  ServerConnectionEvent,
  ServerDropEvent,
  ServerPublishEvent,
  ServerRequestTrace,
} from './server-events.js'
import { callSubscriber } from './subscriber-error.js'
import type { TracingStep } from './tracing-channel.js'

export type { ClientWatchEvent, ConnectionEvent, LeaseEvent, RequestTrace, WatchFreshness } from './client-events.js'
export type {
  ConnectionLimit,
  LogEvent,
  ServerAccessEvent,
  ServerChangeEvent,
  ServerConnectionEvent,
  ServerDropEvent,
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
  readonly 'rx-statestore:server:drop': ServerDropEvent
  readonly 'rx-statestore:server:access': ServerAccessEvent
  readonly 'rx-statestore:log': LogEvent
} & { readonly [Name in `tracing:rx-statestore:request:${TracingStep}`]: RequestTrace } & {
  readonly [Name in `tracing:rx-statestore:server:request:${TracingStep}`]: ServerRequestTrace
}

/**
 * Calls `listener` synchronously with each event of a channel, from all clients and stores of the process or page. An
 * error that it throws is reported as a process warning, or as an uncaught error in browsers. Returns a function that
 * unsubscribes. Works like `subscribe` of `node:diagnostics_channel`, but with types and also
 * in browsers.
 *
 * @example
 * ```ts
 * const unsubscribe = subscribe(
 *   'rx-statestore:connection',
 *   ({ type, clientId }) => console.log(clientId, type),
 * )
 * ```
 */
export function subscribe<Name extends keyof DiagnosticEvents>(
  name: Name,
  listener: (event: DiagnosticEvents[Name]) => void,
): () => void {
  const channel = channelOf(name)
  // A separate function for each subscription, so that each one ends independently.
  const listen: ChannelListener = (event: DiagnosticEvents[Name]) => callSubscriber(() => listener(event))
  channel.subscribe(listen)
  return () => {
    channel.unsubscribe(listen)
  }
}
