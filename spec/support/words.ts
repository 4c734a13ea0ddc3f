/** Converts text to bytes, one byte per character, so that binary data is readable in a spec. */
export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Converts bytes to text, as the inverse of {@link bytes}. */
export const textOf = (data: Uint8Array): string => Buffer.from(data).toString('latin1')

/** Encodes a RESP3 array of blob strings, without the encoder under test. */
export function resp3(words: readonly string[]): Buffer {
  return bytes(`*${words.length}\r\n${words.map(word => `$${word.length}\r\n${word}\r\n`).join('')}`)
}

/** Encodes a request whose words are separated by single blanks. */
export const command = (line: string): Buffer => resp3(line.split(' '))
