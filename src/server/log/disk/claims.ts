import { createHash } from 'node:crypto'
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from './files.js'
import { draftNameOf, LOCK_FILE, PARTIAL_SUFFIX } from './format.js'

/** The directory operations that claims use. */
export interface ClaimFiles {
  list(): Promise<readonly string[]>
  /** Returns a file's content, or `undefined` if it does not exist. */
  read(name: string): Promise<string | undefined>
  /** Creates a file together with its content unless the name exists. Returns whether the file was created. */
  create(name: string, text: string): Promise<boolean>
  /** Renames a file, and replaces any file of that name. Returns whether the source existed. */
  rename(from: string, to: string): Promise<boolean>
  /** Removes a file. Does nothing if the file does not exist. */
  remove(name: string): Promise<void>
}

/** A file that names the process that holds a directory. */
export interface Claim {
  readonly name: string
  readonly text: string
}

/**
 * Claims a directory. Returns `undefined` on success, otherwise the owner's claim.
 *
 * A killed process leaves its claim behind, and no other process removes that claim. If two processes find the claim,
 * neither could know whether it would remove the old claim or a new claim of the other process. Instead, each process
 * claims the claim, under a name derived from the claim's text, and the file system lets only one process create
 * that name. This forms a chain of claims of which the last one counts, and only the creator of the last claim renames
 * it to the first. A claim that follows no other claim was created too late.
 *
 * A process may be suspended before it renames its claim, and resume after another process has taken the directory. So
 * each owner first removes all other claims, which leaves nothing to rename.
 *
 * @param own - a text that no other claim has
 * @param isAlive - returns whether the process of a claim runs
 */
export async function claimDirectory(
  files: ClaimFiles,
  own: string,
  isAlive: (text: string) => boolean,
): Promise<string | undefined> {
  for (;;) {
    const before = await readClaims(files)
    const last = before.at(-1)
    if (last !== undefined && isAlive(last.text)) return last.text
    const name = last === undefined ? LOCK_FILE : successorName(last.text)
    if (!(await files.create(name, own))) continue
    if ((await readClaims(files)).at(-1)?.text !== own) {
      await files.remove(name)
      continue
    }
    if (name !== LOCK_FILE && !(await files.rename(name, LOCK_FILE))) continue
    if (await removeOtherClaims(files, own)) return undefined
  }
}

/** Removes all other claims if this process made the last claim. Returns whether this process made the last claim. */
async function removeOtherClaims(files: ClaimFiles, own: string): Promise<boolean> {
  const next = successorName(own)
  const others = (await files.list()).filter(name => SUCCESSOR.test(name) && name !== next)
  // The files listed before this check are no longer part of the chain, and no name is used twice.
  if ((await readClaims(files)).at(-1)?.text !== own) return false
  for (const name of others) await files.remove(name)
  return true
}

/** Returns the chain of claims. The last claim counts, whether or not its process runs. */
export async function readClaims({ read }: Pick<ClaimFiles, 'read'>): Promise<Claim[]> {
  const claims: Claim[] = []
  for (let name = LOCK_FILE; ; ) {
    const text = await read(name)
    if (text === undefined) return claims
    claims.push({ name, text })
    name = successorName(text)
  }
}

const SUCCESSOR = new RegExp(`^${LOCK_FILE}\\.[0-9a-f]{32}\\${PARTIAL_SUFFIX}$`)

const successorName = (text: string): string =>
  `${LOCK_FILE}.${createHash('sha256').update(text).digest('hex').slice(0, 32)}${PARTIAL_SUFFIX}`

const FILE_MODE = 0o600

/**
 * Creates the claim operations of a directory.
 *
 * @param linked - function that gives a file a second name unless that name exists
 */
export function claimFiles(directory: string, linked: typeof link = link): ClaimFiles {
  const pathOf = (name: string): string => join(directory, name)
  return {
    list: async () => readdir(directory),
    read: async name => resultOrDefault(async () => readFile(pathOf(name), 'utf8'), undefined, 'ENOENT'),
    create: async (name, text) => {
      const draft = pathOf(draftNameOf(LOCK_FILE))
      try {
        await writeFile(draft, text, { flag: 'wx', mode: FILE_MODE })
        return await resultOrDefault(async () => linked(draft, pathOf(name)).then(() => true), false, 'EEXIST')
      } catch (error) {
        if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
        // On file systems without hard links, the claim exists briefly without its content.
        return await resultOrDefault(
          async () => writeFile(pathOf(name), text, { flag: 'wx', mode: FILE_MODE }).then(() => true),
          false,
          'EEXIST',
        )
      } finally {
        await rm(draft, { force: true })
      }
    },
    rename: async (from, to) =>
      resultOrDefault(async () => rename(pathOf(from), pathOf(to)).then(() => true), false, 'ENOENT'),
    remove: async name => rm(pathOf(name), { force: true }),
  }
}

async function resultOrDefault<T>(task: () => Promise<T>, fallback: T, code: string): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (hasCode(error, code)) return fallback
    throw error
  }
}
