import { decodeReply, type Resp3 } from '../resp3/decode.js'
import { encodeArray, encodeBlob, encodeError, encodeInteger, encodeNested, encodeSimple } from '../resp3/encode.js'
import { PayloadError, type ServiceErrorCode } from '../util/errors.js'
import { type KnownServiceErrorCode, SERVICE_ERRORS, serviceError } from './service-errors.js'

/**
 * The encoding where the documents and the official clients differ: `field` as the clients expect, or `documented` as
 * the protocol page shows.
 */
export type Dialect = 'field' | 'documented'

/** A page of keys that SCAN found. A page without a token is the last one. An empty page may have a token. */
export interface ScanPage {
  readonly keys: readonly Uint8Array[]
  /** An opaque token for the request of the next page. */
  readonly token: Uint8Array | undefined
}

/** The store's reply to a request, before it is encoded. */
export type Reply =
  | { readonly type: 'ok' }
  | { readonly type: 'value'; readonly value: Uint8Array }
  | { readonly type: 'absent' }
  | { readonly type: 'count'; readonly count: 0 | 1 }
  /** A condition (NX, NEX or the value of VDEL) did not hold. */
  | { readonly type: 'refused' }
  | (ScanPage & { readonly type: 'page' })
  | { readonly type: 'error'; readonly code: KnownServiceErrorCode }
  /** An error that the protocol does not name. */
  | { readonly type: 'error'; readonly code: 'service-unknown'; readonly text: string }

// These constants are annotated as pure, so that clients, which only read replies, do not bundle them.
const OK = /* @__PURE__ */ encodeSimple('OK')
const ABSENT = /* @__PURE__ */ encodeBlob(null)
const COUNT = [/* @__PURE__ */ encodeInteger(0), /* @__PURE__ */ encodeInteger(1)] as const

const SPELLING = {
  field: { refused: /* @__PURE__ */ encodeInteger(-1), watchErrorPrefix: 'ERR ' },
  documented: { refused: /* @__PURE__ */ encodeError('1'), watchErrorPrefix: 'ERR: ' },
} as const

/**
 * Encodes a reply ("Response format"). The result may be shared and must not be modified.
 *
 * @param isWatch - whether the reply is to KEYNOTIFY, whose errors have another prefix on the page
 */
export function encodeReply(reply: Reply, dialect: Dialect = 'field', isWatch = false): Uint8Array {
  switch (reply.type) {
    case 'ok':
      return OK
    case 'value':
      return encodeBlob(reply.value)
    case 'absent':
      return ABSENT
    case 'count':
      return COUNT[reply.count]
    case 'refused':
      return SPELLING[dialect].refused
    case 'page':
      return encodeNested([encodeArray(reply.keys), ...(reply.token ? [encodeBlob(reply.token)] : [])])
    case 'error':
      return encodeError(
        (isWatch ? SPELLING[dialect].watchErrorPrefix : 'ERR ') +
          (reply.code === 'service-unknown' ? reply.text : SERVICE_ERRORS[reply.code]),
      )
  }
}

/**
 * Reads the reply to SET or VDEL: `applied`, `refused` by its condition, or `missing` for a VDEL of a key that does not
 * exist.
 */
export function readConditional(payload: Uint8Array, key: string): 'applied' | 'refused' | 'missing' {
  const reply = readReply(payload, key)
  if (reply.type === 'simple' && reply.text === 'OK') return 'applied'
  if (reply.type === 'integer' && reply.value === 1) return 'applied'
  if (reply.type === 'integer' && reply.value === 0) return 'missing'
  if (reply.type === 'integer' && reply.value === -1) return 'refused'
  // `-1` is the documented reply; the .NET client also accepts `$-1`.
  if (reply.type === 'error' && reply.text === '1') return 'refused'
  if (reply.type === 'blob' && reply.bytes === null) return 'refused'
  throw unexpected(reply, key)
}

export function readValue(payload: Uint8Array, key: string): Uint8Array | undefined {
  const reply = readReply(payload, key)
  if (reply.type !== 'blob') throw unexpected(reply, key)
  return reply.bytes ?? undefined
}

export function readDeleted(payload: Uint8Array, key: string): boolean {
  const reply = readReply(payload, key)
  if (reply.type !== 'integer' || (reply.value !== 0 && reply.value !== 1)) throw unexpected(reply, key)
  return reply.value === 1
}

/** Reads the reply to KEYNOTIFY. Returns `false` only for a STOP without a registration. */
export function readWatched(payload: Uint8Array, key: string): boolean {
  const reply = readReply(payload, key)
  if (reply.type === 'simple' && reply.text === 'OK') return true
  if (reply.type === 'integer' && reply.value === 0) return false
  throw unexpected(reply, key)
}

const SCAN_ADVICE: Partial<Record<ServiceErrorCode, string>> = {
  'unknown-command': 'it has no SCAN and cannot list its keys',
  'syntax-error': 'the glob is invalid, or the store was restarted during the scan: scan again',
}

export function readPage(payload: Uint8Array): ScanPage {
  const reply = decodeReply(payload)
  if (reply.type === 'error') throw serviceError(reply.text, undefined, SCAN_ADVICE)
  const [list, token, ...more] = reply.type === 'array' ? reply.items : []
  if (list?.type !== 'array' || more.length > 0) throw notAPage(reply)
  const keys = list.items.map(item => bytesOf(item, reply))
  // No key is empty, and a request for an empty key would fail as an invalid argument.
  if (keys.some(key => key.length === 0)) throw notAPage(reply)
  return { keys, token: token && bytesOf(token, reply) }
}

function bytesOf(item: Resp3, reply: Resp3): Uint8Array {
  if (item.type !== 'blob' || item.bytes === null) throw notAPage(reply)
  return item.bytes
}

const notAPage = ({ type }: Resp3): PayloadError =>
  new PayloadError(`The store's reply to SCAN is not a page of keys (${type})`)

function readReply(payload: Uint8Array, key: string): Resp3 {
  const reply = decodeReply(payload)
  if (reply.type === 'error' && reply.text !== '1') throw serviceError(reply.text, key)
  return reply
}

const unexpected = (reply: Resp3, key: string): PayloadError =>
  new PayloadError(`The store's reply for key ${JSON.stringify(key)} has an unexpected form (${reply.type})`)
