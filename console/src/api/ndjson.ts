const MAX_LINE_CHARS = 4 * 1_048_576

/** Splits a stream into lines and parses each line as JSON. */
export class NdjsonReader {
  readonly #decoder = new TextDecoder()
  #incompleteLine = ''

  /** Returns the lines that a chunk completes. Throws `SyntaxError` for invalid JSON. */
  read(chunk: Uint8Array): readonly unknown[] {
    const lines = (this.#incompleteLine + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#incompleteLine = lines.pop() ?? ''
    if (this.#incompleteLine.length > MAX_LINE_CHARS) throw new SyntaxError('A line of the stream is too long')
    return lines.filter(line => line.trim() !== '').map((line): unknown => JSON.parse(line))
  }
}
