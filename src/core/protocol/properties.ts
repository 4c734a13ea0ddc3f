import { Hlc } from '../hlc/hlc.js'
import { HlcError, PayloadError } from '../util/errors.js'

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
  /** On the notification of a DELETE: why the key is gone, `deleted` or `expired`. Of this store alone. */
  reason: 'reason',
  /** `true` on a SET asks the broker to keep the key on disk. */
  persist: 'aio-persistence',
} as const

/** The RPC version this library speaks; another major version is refused. */
export const PROTOCOL_VERSION = '1.0'

/** RPC status of a response. `ok` is also the status of an answer `-ERR ...`: the store did process the request. */
export const STATUS = { ok: 200, badRequest: 400, unavailable: 503, versionNotSupported: 505 } as const

/** Content type of requests and responses; responses with another one are refused by the official clients. */
export const CONTENT_TYPE = 'application/octet-stream'

/** What may carry a version or a reason: a response or a notification. */
interface Versioned {
  readonly userProperties: Readonly<Record<string, string | readonly string[]>>
}

/** The version a response or notification carries, if it carries one. Raises {@link PayloadError} for a malformed one. */
export const versionOf = ({ userProperties }: Versioned): Hlc | undefined => hlcOf(userProperties[PROPERTY.timestamp])

/**
 * The place among all changes of an answer that has no version of its own, from a store that tells it. Of this library alone,
 * so what cannot be read is another store's and means nothing.
 */
export function positionOf({ userProperties }: Versioned): Hlc | undefined {
  const text = userProperties[PROPERTY.position]
  if (text === undefined) return undefined
  try {
    return Hlc.parse(String(text))
  } catch {
    return undefined
  }
}

/**
 * Why a key is gone: a command deleted it, its time to live was over, or not known, as other stores do not say it and a
 * read only finds that there is no such key.
 */
export type GoneReason = 'deleted' | 'expired' | 'unknown'

/** Why the notification of a DELETE came, from a store that says so. */
export function goneReasonOf({ userProperties }: Versioned): GoneReason {
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
