import { createHash } from 'node:crypto'
import { LOCK, UNFINISHED } from './format.js'

/** What claims on a directory need of it. */
export interface ClaimFiles {
  list(): Promise<readonly string[]>
  /** The text of a file, `undefined` when there is none. */
  read(name: string): Promise<string | undefined>
  /** Makes a file with a text, both at once, unless there is one of that name; returns whether it did. */
  make(name: string, text: string): Promise<boolean>
  /** Gives a file another name, and takes that from the file that has it; returns whether there was such a file. */
  rename(from: string, to: string): Promise<boolean>
  /** Harmless when there is no such file. */
  remove(name: string): Promise<void>
}

/** A file that says which process has a directory. */
export interface Claim {
  readonly name: string
  readonly text: string
}

/**
 * Claims a directory; returns `undefined` when it is ours, else the claim of its owner.
 *
 * A process that is killed leaves its claim behind. Nobody takes that away: two who find it could not know whether what
 * they take is still that one, or the claim of the other already. They make a claim on it, by a name that only those have
 * who know its text, and the file system lets one of them. So there is a chain of claims, the last one counts, and only
 * whoever made that replaces the first one by it. A claim that follows no other was made too late.
 *
 * A process may be stopped before it renames its claim, and go on when another one has the directory. So each owner first
 * removes all claims besides its own: there is nothing left to rename.
 *
 * @param own - a text that no other claim has
 * @param counts - whether a claim is of somebody who lives
 */
export async function claim(
  files: ClaimFiles,
  own: string,
  counts: (text: string) => boolean,
): Promise<string | undefined> {
  for (;;) {
    const before = await claimsOn(files)
    const last = before.at(-1)
    if (last !== undefined && counts(last.text)) return last.text
    const name = last === undefined ? LOCK : successorOf(last.text)
    if (!(await files.make(name, own))) continue
    if ((await claimsOn(files)).at(-1)?.text !== own) {
      await files.remove(name)
      continue
    }
    if (name !== LOCK && !(await files.rename(name, LOCK))) continue
    if (await removeOthers(files, own)) return undefined
  }
}

/** Removes all claims but the last one, if that is ours; returns whether it is. */
async function removeOthers(files: ClaimFiles, own: string): Promise<boolean> {
  const next = successorOf(own)
  const others = (await files.list()).filter(name => SUCCESSOR.test(name) && name !== next)
  // What was there before this look follows no claim any more. No name comes twice.
  if ((await claimsOn(files)).at(-1)?.text !== own) return false
  for (const name of others) await files.remove(name)
  return true
}

/** All claims, each on the one before; the last one counts, whether or not its process runs. */
export async function claimsOn({ read }: Pick<ClaimFiles, 'read'>): Promise<Claim[]> {
  const claims: Claim[] = []
  for (let name = LOCK; ; ) {
    const text = await read(name)
    if (text === undefined) return claims
    claims.push({ name, text })
    name = successorOf(text)
  }
}

const SUCCESSOR = new RegExp(`^${LOCK}\\.[0-9a-f]{32}\\${UNFINISHED}$`)

const successorOf = (text: string): string =>
  `${LOCK}.${createHash('sha256').update(text).digest('hex').slice(0, 32)}${UNFINISHED}`
