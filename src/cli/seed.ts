import { readFile } from 'node:fs/promises'
import { reason } from '../core/util/errors.js'
import type { DumpLine } from '../server/index.js'
import { EXIT, Failure } from './failure.js'

/** Keys to begin with, and their values as text. */
export type Seed = readonly DumpLine[]

/** Reads a seed: a JSON object of values by key. A string is stored as it is, anything else as JSON text. */
export async function readSeed(file: string): Promise<Seed> {
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Failure(EXIT.usage, `cannot read the seed: ${reason(cause)}`, { cause })
  })
  const seed = parse(content, file)
  if (typeof seed !== 'object' || seed === null || Array.isArray(seed)) {
    throw new Failure(EXIT.usage, `the seed ${file} must be a JSON object of values by key`)
  }
  if (Object.hasOwn(seed, '')) throw new Failure(EXIT.usage, `the seed ${file} has an empty key`)
  return Object.entries(seed).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }))
}

function parse(content: string, file: string): unknown {
  try {
    return JSON.parse(content)
  } catch (cause) {
    throw new Failure(EXIT.usage, `the seed ${file} is not JSON: ${reason(cause)}`, { cause })
  }
}
