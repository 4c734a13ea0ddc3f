import { readFile, writeFile } from 'node:fs/promises'
import { concatBytes, fromHex, fromUtf8, toHex, utf8 } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'
import type { ValueFlags } from './flags.js'
import { type Io, print } from './io.js'

/** The argument that means standard input or, as an output file, standard output. */
export const STANDARD_STREAM = '-'

/** Reads the value of a command from its argument, a file, or standard input for `-`. Rejects with {@link Failure}. */
export async function readValue(argument: string | undefined, { hex, file }: ValueFlags, io: Io): Promise<Uint8Array> {
  if (argument !== undefined && file !== undefined) throw new Failure(EXIT.usage, 'VALUE and --file cannot be combined')
  if (argument === undefined && file === undefined)
    throw new Failure(EXIT.usage, 'missing VALUE; use - for standard input, or --file')
  const source = file ?? (argument === STANDARD_STREAM ? STANDARD_STREAM : undefined)
  const bytes = source === undefined ? utf8(argument ?? '') : await contentOf(source, io)
  if (!hex) return bytes
  const decoded = fromHex(textOf(bytes).replace(/\s+/g, ''))
  if (decoded === undefined) throw new Failure(EXIT.usage, 'with --hex the value must be Base16, such as 00FF')
  return decoded
}

/** Writes a value, as exact bytes to files and pipes, and as a line to a terminal or with --hex. */
export async function writeValue(value: Uint8Array, { hex, file }: ValueFlags, io: Io): Promise<void> {
  const data = hex ? `${toHex(value)}\n` : value
  if (file === undefined || file === STANDARD_STREAM) {
    await print(io.stdout, data)
    if (!hex && file === undefined && io.stdout.isTTY) await print(io.stdout, '\n')
    return
  }
  try {
    await writeFile(file, data)
  } catch (cause) {
    throw new Failure(EXIT.failed, `cannot write the value: ${reason(cause)}`, { cause })
  }
}

async function contentOf(file: string, io: Io): Promise<Uint8Array> {
  if (file === STANDARD_STREAM) return allOf(io.stdin)
  try {
    return await readFile(file)
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the value: ${reason(cause)}`, { cause })
  }
}

export async function allOf(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return concatBytes(chunks)
}

// For bytes that are not text, returns invalid Base16, which the caller reports.
function textOf(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes)
  } catch {
    return '?'
  }
}
