import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SuiteName } from '../simulation/suites.js'

const ROOT = new URL('../..', import.meta.url).pathname

/** A change at one place of the source. */
export interface Edit {
  /** The exact text, which occurs exactly once in the file. */
  readonly code: string
  /** The replacement. The default is the empty string. */
  readonly becomes?: string
  /** The changed file. The default is the file under which the mutant is listed. */
  readonly file?: string
}

/** The removal of a safeguard, which a simulation must detect. */
export interface Mutant extends Edit {
  /** The first schedule to run, which is known to detect the mutant. */
  readonly seed: number
  /**
   * The text that the complaint must contain, if another complaint would prove nothing. By default, any complaint
   * counts.
   */
  readonly complaint?: string
  /** Further edits, if one edit does not remove the safeguard. */
  readonly also?: readonly Edit[]
}

/** The mutants of one simulation, by file and by the guarantee that the safeguard ensures. */
export type Mutants = Readonly<Record<string, Readonly<Record<string, Mutant>>>>

/** A mutant with its names and the simulation that must detect it. */
export interface Case {
  readonly simulation: SuiteName
  readonly safeguard: string
  readonly file: string
  readonly mutant: Mutant
}

/**
 * Returns the texts of the files that a mutant changes, by absolute path. Throws an error if a file does not contain
 * the expected code.
 */
export function mutatedFiles({ safeguard, file: listed, mutant }: Case): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { code, becomes = '', file = listed } of [mutant, ...(mutant.also ?? [])]) {
    const absolute = join(ROOT, file)
    const subject = `the mutant without "${safeguard}"`
    if (!existsSync(absolute)) throw new Error(`${file} does not exist: name the file that ${subject} changes`)
    const text = texts.get(absolute) ?? readFileSync(absolute, 'utf8')
    const [before, after, ...more] = text.split(code)
    if (before === undefined || after === undefined || more.length > 0) {
      const count = text.split(code).length - 1
      throw new Error(
        `${file} has the code of ${subject} ${count} times, not once; give the code as it is now:\n${code}`,
      )
    }
    texts.set(absolute, before + becomes + after)
  }
  return texts
}
