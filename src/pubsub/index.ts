export { type BackoffOptions, backoff } from '../backoff.js'
export { type Clock, systemClock } from '../clock.js'
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
} from '../errors.js'
export { PubSubClient } from './client/client.js'
export { connectPubSub, type PubSubOptions } from './client/connect.js'
export type { UrlSource } from './client/driver.js'
export { PubSubRefusedError } from './client/errors.js'
export type { GroupMessage, ReconnectStrategy, SendResult, ServerMessage } from './client/events.js'
export { type Gap, Group } from './client/group.js'
export { type SendingOptions, sendEvent, sendToGroup } from './client/operators.js'
export type { GroupSendOptions, SendOptions } from './client/send.js'
export type { PubSubStatus } from './client/status.js'
export type { AckError, Payload } from './wire/frames.js'
