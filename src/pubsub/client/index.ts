export { Awaitable } from '../../core/util/awaitable.js'
export { type BackoffOptions, backoff } from '../../core/util/backoff.js'
export { type Clock, systemClock } from '../../core/util/clock.js'
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
} from '../../core/util/errors.js'
export type { ItemResult } from '../../core/util/item-result.js'
export type { AckError, Payload } from '../wire/frames.js'
export { connectPubSub, type PubSubOptions } from './connect-pubsub.js'
export type { UrlSource } from './driver.js'
export type { GroupMessage, PubSubStatus, ReconnectStrategy, SendResult, ServerMessage } from './events.js'
export { type Gap, Group } from './group.js'
export { PubSubRefusedError } from './in-flight-request.js'
export { type SendingOptions, sendEvent, sendToGroup } from './operators.js'
export { PubSubClient } from './pubsub-client.js'
export type { GroupSendOptions, SendOptions } from './send.js'
