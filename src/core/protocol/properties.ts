import { Hlc } from '../hlc/hlc.js'
import { HlcError, PayloadError } from '../util/errors.js'

/** MQTT 5 user properties of requests, responses and notifications. */
export const PROPERTY = {
  /**
   * A hybrid logical clock reading: of the requester on a request, the version of the value on a response or
   * notification.
   */
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
   * The last version assigned to any key, which orders a response among changes. Sent on the response to a GET of an
   * absent key and to a GLOBNOTIFY. An extension, because the protocol gives these responses no version.
   */
  position: '__pos',
  /** The client id, by which a broker may partition requests while it keeps the requests of one client in order. */
  partition: '$partition',
  /** An empty property by which brokers may prioritise a message when their buffers are full of data. */
  highPriority: '$high_priority',
  /**
   * The instance that responds, sent on responses of an attached store. Another instance does not have earlier
   * registrations. An extension.
   */
  instance: '__life',
  /** The reason on the notification of a DELETE: `deleted` or `expired`. An extension. */
  reason: 'reason',
  /**
   * On CONNECT, empty: asks the broker of this package for the time of its store, which CONNACK then has in ms since the
   * Unix epoch. An extension; other brokers ignore it.
   */
  storeTime: '__now',
  /** `true` on a SET asks the broker to keep the key on disk. */
  persist: 'aio-persistence',
} as const

/** User properties of W3C Trace Context for MQTT, on requests and notifications. */
export const TRACE_PROPERTY = { parent: 'traceparent', state: 'tracestate' } as const

/** RPC version of this library. Other major versions are rejected. */
export const PROTOCOL_VERSION = '1.0'

/** RPC status of a response. A reply `-ERR ...` also has the status `ok`, because the store processed the request. */
export const STATUS = { ok: 200, badRequest: 400, unavailable: 503, versionNotSupported: 505 } as const

/** Content type of requests and responses. The official clients reject responses with any other type. */
export const CONTENT_TYPE = 'application/octet-stream'

interface Versioned {
  readonly userProperties: Readonly<Record<string, string | readonly string[]>>
}

/** Returns the version of a response or notification, if any. Throws {@link PayloadError} if it is malformed. */
export const readVersion = ({ userProperties }: Versioned): Hlc | undefined => hlcOf(userProperties[PROPERTY.timestamp])

/**
 * Returns the position among all changes of a response without a version. The position is an extension, so an
 * unreadable value belongs to another store and is ignored.
 */
export function readPosition({ userProperties }: Versioned): Hlc | undefined {
  const text = userProperties[PROPERTY.position]
  if (text === undefined) return undefined
  try {
    return Hlc.parse(String(text))
  } catch {
    return undefined
  }
}

/**
 * Why a key does not exist: deleted by a command, expired, or unknown, because other stores do not report the reason
 * and a read only finds that there is no key.
 */
export type GoneReason = 'deleted' | 'expired' | 'unknown'

/** Returns the reason in the notification of a DELETE, if the store reports one. */
export function readGoneReason({ userProperties }: Versioned): GoneReason {
  const reason = userProperties[PROPERTY.reason]
  return reason === 'deleted' || reason === 'expired' ? reason : 'unknown'
}

function hlcOf(text: string | readonly string[] | undefined): Hlc | undefined {
  if (text === undefined) return undefined
  try {
    return Hlc.parse(String(text))
  } catch (cause) {
    throw cause instanceof HlcError ? new PayloadError(`Malformed version: ${cause.message}`, { cause }) : cause
  }
}

/** Returns the value of a property, or `undefined` if the property is repeated and thus invalid (W3C Trace Context). */
export const singleText = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined
