import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = new URL('../..', import.meta.url).pathname

/** A change of one place of the source. */
export interface Edit {
  /** The exact text, which is in the file once. */
  readonly code: string
  /** What it becomes; default nothing. */
  readonly becomes?: string
}

/** A safeguard that is taken out, to show that a simulation complains about it. */
export interface Mutant extends Edit {
  /** The first schedule that is tried: one that is known to show the difference. */
  readonly seed: number
  /** What the complaint has to contain, where another one would say nothing; default any. */
  readonly complaint?: string
  /** More edits, where one does not take out the safeguard; by default of the same file. */
  readonly also?: readonly (Edit & { readonly file?: string })[]
}

/** The mutants of one simulation: by file, and by what the safeguard ensures. */
export type Mutants = Readonly<Record<string, Readonly<Record<string, Mutant>>>>

/** The texts of the files that a mutant changes, by absolute path. Throws an error when one is not as the mutant expects. */
export function mutatedFiles(safeguard: string, file: string, mutant: Mutant): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { code, becomes = '', ...edit } of [mutant, ...(mutant.also ?? [])]) {
    const path = 'file' in edit && edit.file !== undefined ? edit.file : file
    const absolute = join(ROOT, path)
    const subject = `the mutant without "${safeguard}"`
    if (!existsSync(absolute)) throw new Error(`${path} does not exist: name the file that ${subject} is to change`)
    const text = texts.get(absolute) ?? readFileSync(absolute, 'utf8')
    const [before, after, ...more] = text.split(code)
    if (before === undefined || after === undefined || more.length > 0) {
      const count = text.split(code).length - 1
      throw new Error(
        `${path} has the code of ${subject} ${count} times, not once; give the code as it is now:\n${code}`,
      )
    }
    texts.set(absolute, before + becomes + after)
  }
  return texts
}
