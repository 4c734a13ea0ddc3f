import { type Channel, channelOf } from './channel.js'
import type {
  LogEvent,
  ServerAccessEvent,
  ServerChangeEvent,
  ServerConnectionEvent,
  ServerDropEvent,
  ServerPublishEvent,
  ServerRequestTrace,
} from './server-events.js'
import { type TracingChannel, tracingChannelOf } from './tracing-channel.js'

export const serverRequestChannel: TracingChannel<ServerRequestTrace> = tracingChannelOf('rx-statestore:server:request')
export const serverChangeChannel: Channel<ServerChangeEvent> = channelOf('rx-statestore:server:change')
export const serverConnectionChannel: Channel<ServerConnectionEvent> = channelOf('rx-statestore:server:connection')
export const serverPublishChannel: Channel<ServerPublishEvent> = channelOf('rx-statestore:server:publish')
export const serverDropChannel: Channel<ServerDropEvent> = channelOf('rx-statestore:server:drop')
export const serverAccessChannel: Channel<ServerAccessEvent> = channelOf('rx-statestore:server:access')
export const logChannel: Channel<LogEvent> = channelOf('rx-statestore:log')
