import { concatBytes, utf8 } from '../bytes.js'

const CRLF = utf8('\r\n')

/** `*n` and n blobs: a request or a notification (state store protocol, "Request format"). */
export function encodeArray(items: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [utf8(`*${items.length}\r\n`)]
  for (const item of items) parts.push(utf8(`$${item.length}\r\n`), item, CRLF)
  return concatBytes(parts)
}

/** `$length` and the bytes; `null` is the nil blob `$-1`. */
export const encodeBlob = (bytes: Uint8Array | null): Uint8Array =>
  bytes === null ? utf8('$-1\r\n') : concatBytes([utf8(`$${bytes.length}\r\n`), bytes, CRLF])

/** `+text`. */
export const encodeSimple = (text: string): Uint8Array => utf8(`+${text}\r\n`)

/** `-text`. */
export const encodeError = (text: string): Uint8Array => utf8(`-${text}\r\n`)

/** `:integer`. */
export const encodeInteger = (value: number): Uint8Array => utf8(`:${value}\r\n`)
