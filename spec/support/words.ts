/** Bytes of a text of which every character stands for one byte, so that binary data is readable in a spec. */
export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** The reverse of {@link bytes}. */
export const textOf = (data: Uint8Array): string => Buffer.from(data).toString('latin1')

/** RESP3 array of blob strings, repeated so that specs do not rely on the encoder under test. */
export function resp3(words: readonly string[]): Buffer {
  return bytes(`*${words.length}\r\n${words.map(word => `$${word.length}\r\n${word}\r\n`).join('')}`)
}

/** The payload of a request of words that are separated by one blank. */
export const command = (line: string): Buffer => resp3(line.split(' '))
