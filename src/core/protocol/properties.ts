import { Hlc } from '../hlc/hlc.js'
import { HlcError, PayloadError } from '../util/errors.js'

/** MQTT 5 user properties of requests, responses and notifications. */
export const PROPERTY = {
  /** Hybrid logical clock: the requester's on a request, the value's version on a response or notification. */
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
   * On the response to a GET of an absent key, and to a GLOBNOTIFY: the last version assigned to any key, which orders
   * the response among changes. An extension; the protocol gives these responses no version.
   */
  position: '__pos',
  /** The client id, by which a broker may partition requests while keeping those of one client in order. */
  partition: '$partition',
  /** Empty; brokers may prioritise these messages when their buffers are full of data. */
  highPriority: '$high_priority',
  /**
   * On responses of an attached store: the instance that responds. Another instance does not have earlier
   * registrations. An extension.
   */
  instance: '__life',
  /** On the notification of a DELETE: `deleted` or `expired`. An extension. */
  reason: 'reason',
  /** `true` on a SET requests that the broker keeps the key on disk. */
  persist: 'aio-persistence',
} as const

/** RPC version of this library; other major versions are rejected. */
export const PROTOCOL_VERSION = '1.0'

/** RPC status of a response. A reply `-ERR ...` has status `ok` as well: the store processed the request. */
export const STATUS = { ok: 200, badRequest: 400, unavailable: 503, versionNotSupported: 505 } as const

/** Content type of requests and responses; the official clients reject responses with another one. */
export const CONTENT_TYPE = 'application/octet-stream'

interface Versioned {
  readonly userProperties: Readonly<Record<string, string | readonly string[]>>
}

/** Returns the version of a response or notification, if any. Throws {@link PayloadError} if it is malformed. */
export const readVersion = ({ userProperties }: Versioned): Hlc | undefined => hlcOf(userProperties[PROPERTY.timestamp])

/**
 * Returns the position of a response without a version among all changes. An extension, so an unreadable value belongs
 * to another store and is ignored.
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
 * Why a key does not exist: deleted by a command, expired, or unknown, because other stores do not report it and a read only
 * finds no key.
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
