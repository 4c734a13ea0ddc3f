/** MQTT 5 user properties of requests, responses and notifications. */
export const PROPERTY = {
  /** Hybrid logical clock: the requester's on a request, the version of the value on a response or notification. */
  timestamp: '__ts',
  fencingToken: '__ft',
  sourceId: '__srcId',
  protocolVersion: '__protVer',
  status: '__stat',
  statusMessage: '__stMsg',
  invalidProperty: '__propName',
  invalidValue: '__propVal',
  supportedMajorVersions: '__supProtMajVer',
  requestVersion: '__requestProtVer',
  /**
   * On the answer to a GET that finds no key: the last version the store gave to any key, so that the answer has a place
   * among the changes. Of this store alone; the protocol gives such an answer no version.
   */
  position: '__pos',
  /** `true` on a SET asks the broker to keep the key on disk. */
  persist: 'aio-persistence',
} as const

/** The RPC version this library speaks; another major version is refused. */
export const PROTOCOL_VERSION = '1.0'

/** RPC status of a response. `ok` is also the status of an answer `-ERR ...`: the store did process the request. */
export const STATUS = { ok: 200, badRequest: 400, unavailable: 503, versionNotSupported: 505 } as const

/** Content type of requests and responses; responses with another one are refused by the official clients. */
export const CONTENT_TYPE = 'application/octet-stream'
