import { wrongLine } from './codec.js'

/**
 * Longest line, bytes: a value of the largest packet a store takes by default, 16 MiB, of characters that JSON writes
 * with six.
 */
export const LONGEST_LINE = 128 * 1024 * 1024

const LINE_FEED = 0x0a

/**
 * The lines of a stream of UTF-8, without their ends; the last one may have none. Raises `argument`, with the
 * number of the line, for one that is too long or no UTF-8; what the stream raises passes through.
 *
 * @param longest - bytes
 */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  longest = LONGEST_LINE,
): AsyncGenerator<string, void> {
  // Fatal: a wrong byte must not become another character.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let parts: Uint8Array[] = []
  let [length, number] = [0, 1]
  const keep = (part: Uint8Array): void => {
    length += part.length
    if (length > longest) throw wrongLine(number, `it is longer than ${longest} bytes`)
    parts.push(part)
  }
  const line = (): string => {
    const text = decoded(decoder, parts, number)
    parts = []
    length = 0
    number++
    return text
  }
  for await (const chunk of source) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      keep(chunk.subarray(from, end))
      yield line()
      from = end + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
  }
  if (length > 0) yield line()
}

function decoded(decoder: TextDecoder, parts: readonly Uint8Array[], number: number): string {
  const [first = new Uint8Array(0), ...more] = parts
  try {
    return decoder.decode(more.length === 0 ? first : Buffer.concat(parts))
  } catch (cause) {
    throw wrongLine(number, 'it is not valid UTF-8', cause)
  }
}
