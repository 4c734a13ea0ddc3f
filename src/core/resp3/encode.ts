import { concatBytes, utf8 } from '../util/bytes.js'

const [ASTERISK, DOLLAR, ZERO, CR, LF] = [0x2a, 0x24, 0x30, 0x0d, 0x0a]

/** Encodes `*n` and n blobs: a request or a notification (state store protocol, "Request format"). */
export function encodeArray(items: readonly Uint8Array[]): Uint8Array {
  let length = 1 + digitsOf(items.length) + 2
  for (const item of items) length += 1 + digitsOf(item.length) + 2 + item.length + 2
  const bytes = new Uint8Array(length)
  let at = putHeader(bytes, 0, ASTERISK, items.length)
  for (const item of items) {
    at = putHeader(bytes, at, DOLLAR, item.length)
    bytes.set(item, at)
    at = putLineEnd(bytes, at + item.length)
  }
  return bytes
}

/** Encodes `*n` and n values that are already encoded. */
export const encodeNested = (values: readonly Uint8Array[]): Uint8Array =>
  concatBytes([utf8(`*${values.length}\r\n`), ...values])

function putHeader(bytes: Uint8Array, at: number, type: number, value: number): number {
  bytes[at] = type
  const end = at + 1 + digitsOf(value)
  let rest = value
  for (let position = end - 1; position > at; position--) {
    bytes[position] = ZERO + (rest % 10)
    rest = Math.floor(rest / 10)
  }
  return putLineEnd(bytes, end)
}

function putLineEnd(bytes: Uint8Array, at: number): number {
  bytes[at] = CR
  bytes[at + 1] = LF
  return at + 2
}

function digitsOf(value: number): number {
  let digits = 1
  for (let rest = value; rest >= 10; rest /= 10) digits++
  return digits
}

/** Encodes `$length` and the bytes; `null` becomes the nil blob `$-1`. */
export function encodeBlob(bytes: Uint8Array | null): Uint8Array {
  if (bytes === null) return utf8('$-1\r\n')
  const blob = new Uint8Array(1 + digitsOf(bytes.length) + 2 + bytes.length + 2)
  const at = putHeader(blob, 0, DOLLAR, bytes.length)
  blob.set(bytes, at)
  putLineEnd(blob, at + bytes.length)
  return blob
}

export const encodeSimple = (text: string): Uint8Array => utf8(`+${text}\r\n`)

export const encodeError = (text: string): Uint8Array => utf8(`-${text}\r\n`)

export const encodeInteger = (value: number): Uint8Array => utf8(`:${value}\r\n`)
