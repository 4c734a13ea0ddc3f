import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

/** The results of the linearizability checker. */
export interface Verdict {
  keys: number
  operations: number
  /** number of operations with an unknown outcome */
  unknown: number
  /** keys whose history is not linearizable */
  illegal: string[]
  /** keys whose check took too long */
  undecided: string[]
}

const ROOT = dirname(createRequire(import.meta.url).resolve('rx-statestore/package.json'))
const FOLDER = join(ROOT, 'chaos/cluster/porcupine')
const PROGRAM = join(FOLDER, 'target/histories')

/** Returns whether the checker can be built. */
export const hasGo = () => spawnSync('go', ['version']).error === undefined

/** Builds the checker unless its program exists. */
export async function buildChecker() {
  await promisify(execFile)('go', ['build', '-o', PROGRAM, '.'], { cwd: FOLDER })
}

/**
 * Checks whether histories are linearizable. For malformed lines, rejects with the checker's output.
 *
 * @param lines - lines of JSON, one per key
 * @param pictures - folder for visualisations of violations
 */
export async function checkHistories(lines: Iterable<string>, pictures?: string): Promise<Verdict> {
  const child = spawn(PROGRAM, pictures === undefined ? [] : [pictures], { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  const output = text(child.stdout)
  const failed = text(child.stderr)
  // If the checker ends early, its output explains why.
  const fed = pipeline(Readable.from(lines), child.stdin).catch(error => error)
  const [code] = await ended
  await fed
  if (code !== 0) throw new Error(`the linearizability checker ended with code ${code}: ${await failed}`)
  return JSON.parse(await output)
}
