import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

/**
 * What the checker says of histories.
 *
 * @typedef {object} Verdict
 * @property {number} keys
 * @property {number} operations
 * @property {number} unknown - of operations, those of which nobody knows what became of them
 * @property {string[]} illegal - keys whose history is not linearizable
 * @property {string[]} undecided - keys whose history took too long
 */

const FOLDER = new URL('./porcupine/', import.meta.url).pathname
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
 * @param {Iterable<string>} lines - JSON, one for each key
 * @param {string} [pictures] - folder for pages that show what is wrong
 * @returns {Promise<Verdict>}
 */
export async function checkHistories(lines, pictures) {
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
