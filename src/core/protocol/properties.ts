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
   * On the answer to a GET that finds no key, and to a GLOBNOTIFY: the last version the store gave to any key, so that the
   * answer has a place among the changes. Of this store alone; the protocol gives such answers no version.
   */
  position: '__pos',
  /** The client id, by which a broker may spread requests so that those of one client stay in order. */
  partition: '$partition',
  /** Empty, on requests, answers and notifications alike: brokers may let them pass where their buffers are full of data. */
  highPriority: '$high_priority',
  /**
   * On answers of a store beside a broker: which life of it answers. In another one it knows no registrations of before.
   * Of this store alone.
   */
  life: '__life',
  /** `true` on a SET asks the broker to keep the key on disk. */
  persist: 'aio-persistence',
} as const

/** The RPC version this library speaks; another major version is refused. */
export const PROTOCOL_VERSION = '1.0'

/** RPC status of a response. `ok` is also the status of an answer `-ERR ...`: the store did process the request. */
export const STATUS = { ok: 200, badRequest: 400, unavailable: 503, versionNotSupported: 505 } as const

/** Content type of requests and responses; responses with another one are refused by the official clients. */
export const CONTENT_TYPE = 'application/octet-stream'
