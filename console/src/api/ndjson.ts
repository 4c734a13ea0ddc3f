/** A line that is longer has no end, characters. */
const LONGEST_LINE = 4 * 1_048_576

/** Cuts what arrives into lines and reads each as JSON. */
export class NdjsonReader {
  readonly #decoder = new TextDecoder()
  #rest = ''

  /** What became whole with this chunk. Throws `SyntaxError` for a line that is not JSON. */
  read(chunk: Uint8Array): readonly unknown[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > LONGEST_LINE) throw new SyntaxError('A line of the stream does not end')
    return lines.filter(line => line.trim() !== '').map((line): unknown => JSON.parse(line))
  }
}
