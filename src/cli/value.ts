import { readFile, writeFile } from 'node:fs/promises'
import { concatBytes, fromHex, fromUtf8, toHex, utf8 } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'
import type { ValueFlags } from './flags.js'
import { type Io, print } from './io.js'

/** What stands for standard input, and as a file for standard output as well. */
export const STANDARD_STREAM = '-'

/** The value of a command: its argument, a file, or standard input for `-`. */
export async function readValue(argument: string | undefined, { hex, file }: ValueFlags, io: Io): Promise<Uint8Array> {
  if (argument !== undefined && file !== undefined) throw new Failure(EXIT.usage, 'give a VALUE or --file, not both')
  if (argument === undefined && file === undefined)
    throw new Failure(EXIT.usage, 'missing VALUE, - for standard input, or --file')
  const source = file ?? (argument === STANDARD_STREAM ? STANDARD_STREAM : undefined)
  const bytes = source === undefined ? utf8(argument ?? '') : await contentOf(source, io)
  if (!hex) return bytes
  const decoded = fromHex(textOf(bytes).replace(/\s+/g, ''))
  if (decoded === undefined) throw new Failure(EXIT.usage, 'with --hex the value must be Base16, such as 00FF')
  return decoded
}

/** Gives out a value: exactly, as a file wants it; as a line for a terminal or in Base16. */
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

/** All that a stream has. */
export async function allOf(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return concatBytes(chunks)
}

// Bytes that are not text are not Base16 either, and are reported as such.
function textOf(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes)
  } catch {
    return '?'
  }
}
