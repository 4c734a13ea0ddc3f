export { Hlc } from '../core/hlc/hlc.js'
export type { GoneReason } from '../core/protocol/properties.js'
export { Awaitable, StoreRequest } from '../core/util/awaitable.js'
export { type BackoffOptions, backoff } from '../core/util/backoff.js'
export { type Clock, systemClock } from '../core/util/clock.js'
export {
  AbortError,
  ArgumentError,
  ClosedError,
  ConnectionLostError,
  ConnectionRefusedError,
  DecodeError,
  type ErrorCode,
  type ErrorCodes,
  HlcError,
  OutcomeUnknownError,
  OverflowError,
  PayloadError,
  RequestRejectedError,
  ServiceError,
  type ServiceErrorCode,
  StateStoreError,
  TimeoutError,
} from '../core/util/errors.js'
export type { ItemResult } from '../core/util/item-result.js'
export { isTransient } from '../core/util/transient-errors.js'
export type { ClientStats, Status } from './connect/client.js'
export { StateStore } from './connect/client.js'
export type { BrokerAddress } from './connect/connect.js'
export { type ClientOptions, type ConnectOptions, connect } from './connect/connect.js'
export { boolean, bytes, type Codec, number, text } from './keys/codec.js'
export { json } from './keys/json.js'
export { jsonLines } from './keys/json-lines.js'
export { type DeleteResult, Key, type SetResult } from './keys/key.js'
export type { ErrorMode, Failure, KeyOf, OperatorOptions, ValueOf } from './keys/operators/operate.js'
export { deleteIf, deleteKey, set } from './keys/operators/operators.js'
export type { PipelineOptions } from './keys/operators/pipeline.js'
export type { AbortOptions, DeleteOptions, RequestOptions, SetOptions } from './keys/options.js'
export { escapeGlob, Scan } from './keys/scan.js'
export { type Keys, StoreView } from './keys/store-view.js'
export { NoStoreError } from './requests/request.js'
export type { ReconnectStrategy } from './session/connection-manager.js'
export type { MqttJsClient, MqttJsEvents, MqttJsServer, MqttJsStream } from './session/mqttjs-client.js'
export type { Authentication, Credentials } from './session/mqttjs-options.js'
export type { Freshness } from './watch/freshness.js'
export type { Entry } from './watch/watch-state.js'
