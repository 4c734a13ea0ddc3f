import { readFile } from 'node:fs/promises'
import { from, lastValueFrom, mergeMap } from 'rxjs'
import { reason } from '../errors.js'
import { connect, text } from '../index.js'
import { EXIT, Failure } from './failure.js'

/** Keys and their values, as text. */
export type Seed = readonly (readonly [key: string, value: string])[]

const CONCURRENCY = 128

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
  return Object.entries(seed).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)])
}

function parse(content: string, file: string): unknown {
  try {
    return JSON.parse(content)
  } catch (cause) {
    throw new Failure(EXIT.usage, `the seed ${file} is not JSON: ${reason(cause)}`, { cause })
  }
}

/** Writes a seed to the store at a URL. */
export async function plant(seed: Seed, url: string): Promise<void> {
  const store = connect(url, { clientId: 'rx-statestore-seed' })
  try {
    const written$ = from(seed).pipe(mergeMap(([key, value]) => store.set(key, value, text), CONCURRENCY))
    await lastValueFrom(written$, { defaultValue: undefined })
  } finally {
    await store.close()
  }
}
