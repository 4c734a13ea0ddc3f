import { encodeArray, encodeBlob, encodeError, encodeInteger, encodeNested, encodeSimple } from '../resp3/encode.js'
import { type KnownServiceErrorCode, SERVICE_ERRORS } from './service-errors.js'

/**
 * Which spelling a store uses where the documents and the field differ: `field` as the official clients expect,
 * `documented` as the protocol page prints it.
 */
export type Dialect = 'field' | 'documented'

/** Some of the keys that SCAN finds; without a token they are the last. It may be empty and yet have a token. */
export interface Page {
  readonly keys: readonly Uint8Array[]
  /** Opaque: what the request for the next page carries. */
  readonly token: Uint8Array | undefined
}

/** What the store answers, before it is spelled. */
export type Reply =
  | { readonly type: 'ok' }
  | { readonly type: 'value'; readonly value: Uint8Array }
  | { readonly type: 'absent' }
  | { readonly type: 'count'; readonly count: 0 | 1 }
  /** A condition (NX, NEX, the value of VDEL) did not hold. */
  | { readonly type: 'refused' }
  | (Page & { readonly type: 'page' })
  | { readonly type: 'error'; readonly code: KnownServiceErrorCode }

const OK = encodeSimple('OK')
const ABSENT = encodeBlob(null)
const COUNT = [encodeInteger(0), encodeInteger(1)] as const

const SPELLING = {
  field: { refused: encodeInteger(-1), errorPrefix: 'ERR ' },
  documented: { refused: encodeError('1'), errorPrefix: 'ERR: ' },
} as const

/** The payload of a response ("Response format"), which is not to be changed: it may be a constant. */
export function encodeReply(reply: Reply, dialect: Dialect = 'field'): Uint8Array {
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
      return encodeError(SPELLING[dialect].errorPrefix + SERVICE_ERRORS[reply.code])
  }
}
