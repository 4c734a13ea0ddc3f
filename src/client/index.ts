export { Hlc } from '../core/hlc/hlc.js'
export { Awaitable } from '../core/util/awaitable.js'
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
export { StateStore } from './connect/client.js'
export { type ClientOptions, type ConnectOptions, connect } from './connect/connect.js'
export type { Status } from './connect/status.js'
export type { Addressed } from './connect/urls.js'
export type { AbortOptions } from './keys/abort.js'
export { boolean, bytes, type Codec, number, text } from './keys/codec.js'
export { json } from './keys/json.js'
export { type DeleteResult, Key, type SetResult } from './keys/key.js'
export { del } from './keys/operators/del.js'
export { get } from './keys/operators/get.js'
export type { PipelineOptions } from './keys/operators/pipeline.js'
export { set } from './keys/operators/set.js'
export type {
  DefaultMode,
  ErrorMode,
  Failed,
  Failure,
  KeyOf,
  OperatorOptions,
  ValueOf,
} from './keys/operators/target.js'
export { vdel } from './keys/operators/vdel.js'
export type { DeleteOptions, RequestOptions, SetOptions } from './keys/options.js'
export { escapeGlob, Scan } from './keys/scan.js'
export { StoreRequest } from './keys/store-request.js'
export { type Keys, StoreView } from './keys/store-view.js'
export { NoStoreError } from './requests/request.js'
export type { MqttJsClient } from './session/mqttjs-client.js'
export type { Credentials } from './session/mqttjs-options.js'
export type { ReconnectStrategy } from './session/reconnect.js'
export type { Entry } from './watch/entry.js'
export type { Freshness } from './watch/freshness.js'
