import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredWrite, WriteStorage } from '../client/optimistic/index.js'
import { isError } from '../core/util/built-in-types.js'
import { checkArgument, checkObject } from '../core/util/check.js'
import { ArgumentError } from '../core/util/errors.js'

/**
 * Keeps unsent writes in a directory, one file per key. The writes survive the process, and only one of several
 * processes sends each write. Only the owner can read the files. Throws `argument` unless the directory is a path.
 *
 * @param directory - created if missing; use one per state store
 * @example
 * ```ts
 * optimistic(key, {
 *   offline: 'latest',
 *   maxAge: 300_000,
 *   storage: fileStorage('/var/lib/panel/writes'),
 * })
 * ```
 */
export function fileStorage(directory: string): WriteStorage {
  checkArgument(typeof directory === 'string' && directory !== '', 'the directory to be a path', directory)
  return {
    load: async key => {
      const files = await filesOf(directory, key)
      const contents = await Promise.all(files.map(file => readWrite(join(directory, file))))
      const newest = contents.reduce(
        (best, one) => (one && (best === undefined || one.at > best.at) ? one : best),
        undefined,
      )
      // Two processes may have saved concurrently. The older write must not be found after the newest was sent.
      for (const [at, file] of files.entries())
        if (contents[at] !== newest) await rm(join(directory, file), { force: true })
      return newest
    },
    save: async (key, write) => {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const older = await filesOf(directory, key)
      const name = `${prefixOf(key)}${hash(write.id)}.json`
      await writeAtomically(directory, name, write)
      for (const file of older) if (file !== name) await rm(join(directory, file), { force: true })
    },
    // Only one of several processes that remove the same file succeeds.
    remove: async (key, id) => {
      try {
        await unlink(join(directory, `${prefixOf(key)}${hash(id)}.json`))
      } catch (error) {
        if (isAbsent(error)) return false
        throw error
      }
      await syncDirectory(directory)
      return true
    },
  }
}

/** Returns a hash for a file name, because keys may be longer than file names. */
const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
const prefixOf = (key: string): string => `${hash(key)}-`

async function filesOf(directory: string, key: string): Promise<string[]> {
  try {
    const files = await readdir(directory)
    return files.filter(file => file.startsWith(prefixOf(key)) && file.endsWith('.json'))
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

async function writeAtomically(directory: string, name: string, { value, base, ...rest }: StoredWrite): Promise<void> {
  const draft = join(directory, `${randomUUID()}.tmp`)
  try {
    await writeFile(draft, JSON.stringify({ ...rest, value: toBase64(value), ...(base && { base: toBase64(base) }) }), {
      flag: 'wx',
      mode: 0o600,
      flush: true,
    })
    await rename(draft, join(directory, name))
  } catch (error) {
    // Frees the space of the draft, because the disk may be full.
    await rm(draft, { force: true })
    throw error
  }
  await syncDirectory(directory)
}

async function readWrite(path: string): Promise<StoredWrite | undefined> {
  try {
    const { id, at, seen, value, base } = checkContent(JSON.parse(await readFile(path, 'utf8')), path)
    const known = { ...(seen !== undefined && { seen }), ...(base !== undefined && { base: fromBase64(base) }) }
    return { id, at, value: fromBase64(value), ...known }
  } catch (error) {
    // Another process has removed the file.
    if (isAbsent(error)) return undefined
    throw error
  }
}

interface Content extends Omit<StoredWrite, 'value' | 'base'> {
  readonly value: string
  readonly base: string | undefined
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'))

function checkContent(content: unknown, path: string): Content {
  checkObject(path, content)
  const { id, at, seen, value, base } = Object(content)
  const isBase = base === undefined || typeof base === 'string'
  const isSeen = seen === undefined || seen === null || typeof seen === 'string'
  if (typeof id !== 'string' || typeof at !== 'number' || typeof value !== 'string' || !isSeen || !isBase)
    throw new ArgumentError(`Expected ${path} to contain a write: use a separate directory for the writes`)
  return { id, at, value, seen, base }
}

/** Makes a rename or removal durable, except on Windows, which cannot open directories. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const isAbsent = (error: unknown): boolean => isError(error) && 'code' in error && error.code === 'ENOENT'
