export { Awaitable } from './awaitable/awaitable.js'
export { type BackoffOptions, backoff } from './base/backoff.js'
export { type Clock, systemClock } from './base/clock.js'
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
} from './base/errors.js'
export { StateStore } from './client/client.js'
export { type ClientOptions, type ConnectOptions, connect } from './client/connect.js'
export type { Status } from './client/status.js'
export type { Addressed } from './client/urls.js'
export { Hlc } from './hlc/hlc.js'
export type { AbortOptions } from './keys/abort.js'
export { boolean, bytes, type Codec, number, text } from './keys/codec.js'
export type { Entry } from './keys/entry.js'
export type { Freshness } from './keys/freshness.js'
export { json } from './keys/json.js'
export { type DeleteResult, Key, type SetResult } from './keys/key.js'
export type { DeleteOptions, RequestOptions, SetOptions } from './keys/options.js'
export { escapeGlob, Scan } from './keys/scan.js'
export { StoreRequest } from './keys/store-request.js'
export { type Keys, StoreView } from './keys/store-view.js'
export type { MqttJsClient } from './mqtt/mqttjs-client.js'
export type { Credentials } from './mqtt/mqttjs-options.js'
export type { ReconnectStrategy } from './mqtt/reconnect.js'
export { del } from './operators/del.js'
export { get } from './operators/get.js'
export type { PipelineOptions } from './operators/pipeline.js'
export { set } from './operators/set.js'
export type { DefaultMode, ErrorMode, Failed, Failure, KeyOf, OperatorOptions, ValueOf } from './operators/target.js'
export { vdel } from './operators/vdel.js'
export { NoStoreError } from './rpc/errors.js'
