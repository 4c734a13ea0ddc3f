import { isObject } from '../../core/util/built-in-types.js'
import { fromBinaryString, toBinaryString } from '../../core/util/bytes.js'
import { PayloadError, reason } from '../../core/util/errors.js'
import type { FrameData, JsonWriter, Payload } from './frames.js'
import { memberText } from './json.js'
import { checkedId, MAX_ID, payloadOf } from './rules.js'

export const JSON_SUBPROTOCOL = 'json.reliable.webpubsub.azure.v1'

const EXCERPT_LENGTH = 80
const DATA_TYPES: readonly unknown[] = ['json', 'text', 'binary', 'protobuf']

type Members = Readonly<Record<string, unknown>>

export class JsonFrame {
  readonly text: string
  readonly members: Members

  /**
   * Throws {@link PayloadError} if the data is not the text of a JSON object.
   *
   * @param read - parses the text; throws if it is not JSON
   */
  constructor(data: FrameData, read: (text: string) => unknown = text => JSON.parse(text)) {
    if (typeof data !== 'string') throw new PayloadError('Not a JSON frame: a binary WebSocket message')
    this.text = data
    this.members = this.#parse(read)
  }

  string(name: string): string {
    const value = this.members[name]
    if (typeof value !== 'string') throw this.fault(`${name} must be a string`)
    return value
  }

  /**
   * Returns an id, exact up to 2^64-1, or `undefined` if the id is absent or null. Beyond 2^53, the id must consist of
   * plain digits.
   *
   * @param quoted - whether to accept a string of digits, as protobuf's JSON form writes 64-bit integers
   */
  id(name: string, quoted = false): bigint | undefined {
    const value = this.members[name]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
    const id = parseId(this.#digits(name, value, quoted))
    if (id === undefined) throw this.fault(`${name} must be an integer from 0 to 2^64-1`)
    return id
  }

  /** Returns the payload, or `undefined` for an unknown `dataType`. (JSON subprotocol reference, "Publish messages") */
  payload(): Payload | undefined {
    const { dataType = 'json', data } = this.members
    if (!isDataType(dataType)) return undefined
    if (data === undefined) throw this.fault('data is missing')
    if (dataType === 'json') return { dataType, data }
    if (typeof data !== 'string') throw this.fault(`data of type ${dataType} must be a string`)
    if (dataType === 'text') return { dataType, data }
    const bytes = fromBase64(data)
    if (bytes === undefined) throw this.fault(`data of type ${dataType} must be base64`)
    return { dataType, data: bytes }
  }

  fault(what: string): PayloadError {
    return new PayloadError(`Malformed JSON frame: ${what}, in ${this.#excerpt()}`)
  }

  #parse(read: (text: string) => unknown): Members {
    try {
      const value = read(this.text)
      if (isObject(value)) return value
    } catch (cause) {
      throw new PayloadError(`Not a JSON frame: ${reason(cause)}`, { cause })
    }
    throw new PayloadError(`Not a JSON frame: expected an object, got ${this.#excerpt()}`)
  }

  #digits(name: string, value: unknown, quoted: boolean): string | undefined {
    // `JSON.parse` rounded the digits, but the text still has all of them.
    if (typeof value === 'number' && value > Number.MAX_SAFE_INTEGER) return memberText(this.text, name)
    return quoted && typeof value === 'string' ? value : undefined
  }

  #excerpt(): string {
    const { text } = this
    return text.length > EXCERPT_LENGTH ? `${JSON.stringify(text.slice(0, EXCERPT_LENGTH))}...` : JSON.stringify(text)
  }
}

/** Returns `,"name":123`, or an empty string without an id. Throws {@link ArgumentError} for an id beyond 64 bits. */
export const idMember = (name: string, id: bigint | undefined): string =>
  id === undefined ? '' : `,"${name}":${checkedId(id)}`

/**
 * Returns `,"dataType":...,"data":...`. Throws {@link ArgumentError} if the data does not match its type.
 *
 * @param jsonOf - function that writes data of type `json`
 */
export function payloadMembers(payload: Payload, jsonOf: JsonWriter): string {
  return `,"dataType":"${payload.dataType}","data":${encodeData(payloadOf(payload.dataType, payload.data), jsonOf)}`
}

function encodeData(payload: Payload, jsonOf: JsonWriter): string {
  if (payload.dataType === 'json') return jsonOf(payload.data)
  if (payload.dataType === 'text') return JSON.stringify(payload.data)
  return `"${toBase64(payload.data)}"`
}

const isDataType = (value: unknown): value is Payload['dataType'] => DATA_TYPES.includes(value)

function parseId(digits: string | undefined): bigint | undefined {
  if (digits === undefined || !/^\d{1,20}$/.test(digits)) return undefined
  const id = BigInt(digits)
  return id <= MAX_ID ? id : undefined
}

/**
 * Encodes Base64 with padding (RFC 4648, section 4), as the JSON subprotocol carries bytes.
 *
 * @example
 * ```ts
 * toBase64(Uint8Array.of(1, 2, 3)) // 'AQID'
 * ```
 */
export const toBase64 = (bytes: Uint8Array): string => btoa(toBinaryString(bytes))

/**
 * Decodes padded standard Base64 without white space. Returns `undefined` for any other text. Ignores unused bits of
 * the last digit.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  // `atob` accepts white space and missing padding.
  if (text.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(text.replace(/==?$/, ''))) return undefined
  return fromBinaryString(atob(text))
}
