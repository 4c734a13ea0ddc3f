export { Awaitable } from '../awaitable/awaitable.js'
export { type BackoffOptions, backoff } from '../base/backoff.js'
export { type Clock, systemClock } from '../base/clock.js'
export {
  ArgumentError,
  ClosedError,
  ConnectionLostError,
  type ErrorCode,
  OutcomeUnknownError,
  OverflowError,
  PayloadError,
  StateStoreError,
  TimeoutError,
} from '../base/errors.js'
export { connectPubSub, type PubSubOptions } from './client/connect-pubsub.js'
export type { UrlSource } from './client/driver.js'
export type { GroupMessage, ReconnectStrategy, SendResult, ServerMessage } from './client/events.js'
export { type Gap, Group } from './client/group.js'
export { type SendingOptions, sendEvent, sendToGroup } from './client/operators.js'
export { PubSubClient } from './client/pubsub-client.js'
export { PubSubRefusedError } from './client/pubsub-errors.js'
export type { PubSubStatus } from './client/pubsub-status.js'
export type { GroupSendOptions, SendOptions } from './client/send.js'
export type { AckError, Payload } from './wire/frames.js'
