export { type BackoffOptions, backoff } from './backoff.js'
export { StateStore } from './client.js'
export { type Clock, systemClock } from './clock.js'
export { type ClientOptions, type ConnectOptions, connect } from './connect.js'
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
} from './errors.js'
export { Hlc } from './hlc/hlc.js'
export type { AbortOptions } from './keys/abort.js'
export { boolean, bytes, type Codec, json, number, text } from './keys/codec.js'
export type { Entry } from './keys/entry.js'
export type { Freshness } from './keys/freshness.js'
export { type DeleteResult, Key, type SetResult } from './keys/key.js'
export type { DeleteOptions, RequestOptions, SetOptions } from './keys/options.js'
export { escapeGlob, Scan } from './keys/scan.js'
export { StoreView } from './keys/store-view.js'
export { type LeaseLossReason, LeaseLostError, LockKeyError } from './lease/errors.js'
export { FencedStore, fenced } from './lease/fenced.js'
export { type Leadership, leadership } from './lease/leadership.js'
export { Lease } from './lease/lease.js'
export type { LeaseOptions } from './lease/lease-options.js'
export type { Acquisition, LeaseState } from './lease/lease-state.js'
export { type LockOptions, withLock } from './lease/with-lock.js'
export type { Credentials } from './mqtt/mqttjs-options.js'
export type { ReconnectStrategy } from './mqtt/reconnect.js'
export { del } from './operators/del.js'
export { get } from './operators/get.js'
export type { PipelineOptions } from './operators/pipeline.js'
export { set } from './operators/set.js'
export type { ErrorMode, Failed, Failure, KeyOf, OperatorOptions, ValueOf } from './operators/target.js'
export { vdel } from './operators/vdel.js'
export type { Status } from './status.js'
