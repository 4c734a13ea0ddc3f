import { type Context, marbles } from 'rxjs-marbles'
import { it } from 'vitest'

/** Defines a test on virtual time, in which streams are written as marble diagrams. */
export const marbleTest = (title: string, test: (m: Context) => void): void => it(title, marbles(test))
