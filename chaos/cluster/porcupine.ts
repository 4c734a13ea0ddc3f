import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

/** What the checker says of histories. */
export interface Verdict {
  keys: number
  operations: number
  /** of operations, those of which nobody knows what became of them */
  unknown: number
  /** keys whose history is not linearizable */
  illegal: string[]
  /** keys whose history took too long */
  undecided: string[]
}

const ROOT = dirname(createRequire(import.meta.url).resolve('rx-statestore/package.json'))
const FOLDER = join(ROOT, 'chaos/cluster/porcupine')
const PROGRAM = join(FOLDER, 'target/histories')

/** Whether there is what it takes to build the checker. */
export const hasGo = () => spawnSync('go', ['version']).error === undefined

/** Builds the checker, if that was not done before. */
export async function buildChecker() {
  await promisify(execFile)('go', ['build', '-o', PROGRAM, '.'], { cwd: FOLDER })
}

/**
 * Whether histories are linearizable. Rejects with what the checker has to say against lines that are none.
 *
 * @param lines - JSON, one for each key
 * @param pictures - folder for pages that show what is wrong
 */
export async function checkHistories(lines: Iterable<string>, pictures?: string): Promise<Verdict> {
  const child = spawn(PROGRAM, pictures === undefined ? [] : [pictures], { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  const said = text(child.stdout)
  const failed = text(child.stderr)
  // When it ends early, its own words say why.
  const fed = pipeline(Readable.from(lines), child.stdin).catch(error => error)
  const [code] = await ended
  await fed
  if (code !== 0) throw new Error(`the checker of histories ended with code ${code}: ${await failed}`)
  return JSON.parse(await said)
}
