import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = new URL('../..', import.meta.url).pathname

/** A change of one place of the source. */
export interface Edit {
  /** The exact text, which is in the file once. */
  readonly code: string
  /** The replacement; default empty. */
  readonly becomes?: string
  /** Default the file under which the mutant is listed. */
  readonly file?: string
}

/** A safeguard that is taken out, to show that a simulation complains about it. */
export interface Mutant extends Edit {
  /** The first schedule to try, which is known to detect the mutant. */
  readonly seed: number
  /** What the complaint has to contain, where another one would say nothing; default any. */
  readonly complaint?: string
  /** More edits, where one does not take out the safeguard. */
  readonly also?: readonly Edit[]
}

/** The mutants of one simulation: by file, and by what the safeguard ensures. */
export type Mutants = Readonly<Record<string, Readonly<Record<string, Mutant>>>>

/** A mutant with its names and the simulation that must detect it. */
export interface Case {
  /** A file of `spec/simulation/suites`. */
  readonly simulation: string
  readonly safeguard: string
  readonly file: string
  readonly mutant: Mutant
}

/**
 * The texts of the files that a mutant changes, by absolute path. Throws an error when one is not as the mutant
 * expects.
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
