import { Random } from '../simulation/random.js'

const EFFORT = process.env['EFFORT']

/** How much a run tries: `npm run test:all` more than `npm test`, which has a minute. */
export const effort = <T>(full: T, quick: T): T => (EFFORT === undefined || EFFORT === 'quick' ? quick : full)

/** How much a spec of the full run tries: the nightly more than `npm run test:all`. */
export const nightly = <T>(many: T, few: T): T => (EFFORT === 'nightly' ? many : few)

/** What the random choices of this run are drawn from; printed when it is not the default. */
export const SEED = Number(process.env['SEED'] ?? 1)

const random = new Random(SEED)

/** All of them in the full run; in the quick one a few, chosen by the seed. */
export function some<T>(all: readonly T[], quick: number): readonly T[] {
  const left = [...all]
  const count = Math.min(left.length, effort(left.length, quick))
  return Array.from({ length: count }, () => left.splice(Math.floor(random.next() * left.length), 1)).flat()
}
