import { Random } from '../../harness/random.js'

const EFFORT = process.env['EFFORT']

/**
 * Returns a run's effort: `full` for `npm run test:all`, and `quick` for `npm test`, which should take a minute.
 */
export const effort = <T>(full: T, quick: T): T => (EFFORT === undefined || EFFORT === 'quick' ? quick : full)

/** Returns a spec's effort in the full run: `many` in the nightly run, and `few` in `npm run test:all`. */
export const nightly = <T>(many: T, few: T): T => (EFFORT === 'nightly' ? many : few)

/** The seed of all random choices in this run. It is printed unless it is the default. */
export const SEED = Number(process.env['SEED'] ?? 1)

const random = new Random(SEED)

/** Returns all items in the full run, and in the quick run a few items that the seed selects. */
export function some<T>(all: readonly T[], quick: number): readonly T[] {
  const left = [...all]
  const count = Math.min(left.length, effort(left.length, quick))
  return Array.from({ length: count }, () => left.splice(Math.floor(random.next() * left.length), 1)).flat()
}
