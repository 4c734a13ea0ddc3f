/** Encodes a value with its tag and length (ITU-T X.690, section 8.1). */
export function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

const lengthOf = (length: number): Buffer => {
  if (length < 0x80) return Buffer.of(length)
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff)
}

export const sequence = (...contents: readonly Uint8Array[]): Buffer => tagged(0x30, ...contents)
export const setOf = (...contents: readonly Uint8Array[]): Buffer => tagged(0x31, ...contents)
/** Encodes a positive integer, whose first bit must be 0. */
export const integer = (bytes: Uint8Array): Buffer => tagged(0x02, bytes)
export const bitString = (bytes: Uint8Array): Buffer => tagged(0x03, Buffer.of(0), bytes)
export const octets = (bytes: Uint8Array): Buffer => tagged(0x04, bytes)
export const utf8String = (text: string): Buffer => tagged(0x0c, Buffer.from(text))
/** Encodes an object identifier, given as the hexadecimal digits of its content. */
export const object = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, 'hex'))
/** The boolean true. */
export const trueValue = tagged(0x01, Buffer.of(0xff))

/** Encodes a time before the year 2050, given in ms since the Unix epoch, as `YYMMDDhhmmssZ`. */
export const time = (ms: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
