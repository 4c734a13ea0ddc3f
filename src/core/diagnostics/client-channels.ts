import { type Channel, channelOf } from './channel.js'
import type { ClientWatchEvent, ConnectionEvent, LeaseEvent, RequestTrace } from './client-events.js'
import { type TracingChannel, tracingChannelOf } from './tracing-channel.js'

export const requestChannel: TracingChannel<RequestTrace> = /* @__PURE__ */ tracingChannelOf('rx-statestore:request')
export const connectionChannel: Channel<ConnectionEvent> = /* @__PURE__ */ channelOf('rx-statestore:connection')
export const watchChannel: Channel<ClientWatchEvent> = /* @__PURE__ */ channelOf('rx-statestore:watch')
export const leaseChannel: Channel<LeaseEvent> = /* @__PURE__ */ channelOf('rx-statestore:lease')
