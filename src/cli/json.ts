import type { Entry } from '../client/index.js'
import { fromUtf8, toHex } from '../core/util/bytes.js'

/** Control and bidirectional characters that JSON does not escape. */
const UNSAFE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

export const jsonLine = (members: object): string =>
  `${JSON.stringify(members).replace(UNSAFE, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`

export const jsonTime = (now: number): string => new Date(now).toISOString()

/** Returns a key as text, or in Base16 if it is not text. */
export const keyMember = (key: string | Uint8Array): { key: string } | { keyHex: string } =>
  typeof key === 'string' ? { key } : { keyHex: toHex(key) }

/** Formats an entry as a line of NDJSON. The value is text, or in Base16 if it is not text or `hex` is set. */
export const entryLine = (
  entry: Entry<Uint8Array>,
  now: number,
  hex: boolean,
  word: string | Uint8Array = entry.key,
): string => {
  const { op, version, value, source } = entry
  return jsonLine({
    time: jsonTime(now),
    ...keyMember(word),
    op,
    ...(entry.op === 'delete' && { reason: entry.reason }),
    version,
    ...(value && valueMember(value, hex)),
    source,
  })
}

/** Returns a value as text, or in Base16 if it is not text or `hex` is set. */
export function valueMember(bytes: Uint8Array, hex: boolean): { value: string } | { valueHex: string } {
  if (hex) return { valueHex: toHex(bytes) }
  try {
    return { value: fromUtf8(bytes) }
  } catch {
    // Bytes that are not text are a legal value.
    return { valueHex: toHex(bytes) }
  }
}
