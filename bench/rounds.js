import { median, perSecond, progress, spread, times } from './report.js'

/**
 * How long to measure.
 *
 * @typedef {object} Effort
 * @property {boolean} quick
 * @property {number} rounds
 * @property {number} ms - of each contestant in each round, about
 */

/**
 * One side of a comparison: `run` does something so often and resolves when all of it is done.
 *
 * @typedef {{ name: string, run: (count: number) => Promise<unknown> }} Runner
 */

/**
 * Runs in growing numbers until one run is long enough to tell the rate; it is the warm-up, too.
 *
 * @param {Runner} runner @param {number} least @param {number} ms
 * @returns {Promise<number>} how often it does in so many ms
 */
async function calibrate({ run }, least, ms) {
  for (let count = least; ; count *= 2) {
    const started = performance.now()
    await run(count)
    const took = performance.now() - started
    if (took > ms / 2) return Math.max(least, Math.round((count / took) * ms))
  }
}

/**
 * Has code compiled for speed before the first row: both verbs, for some time each.
 *
 * @param {readonly { name: string, run: (verb: 'SET' | 'GET', inFlight: number, count: number) => Promise<unknown> }[]} contestants
 * @param {Effort} effort
 */
export async function warmUp(contestants, { ms }) {
  for (const { name, run } of contestants) {
    for (const verb of /** @type {const} */ (['SET', 'GET'])) {
      progress(`warm-up: ${verb} of ${name}`)
      const end = performance.now() + 2 * ms
      do await run(verb, 64, 256)
      while (performance.now() < end)
    }
  }
}

/**
 * The rates of several, per second and round. They take turns, each round another one begins, so that what else the
 * machine does hits all of them alike.
 *
 * @param {string} label
 * @param {readonly Runner[]} runners
 * @param {Effort} effort
 * @param {number} least - fewest to run at a time: several times what is in flight
 * @returns {Promise<number[][]>} for each runner, for each round
 */
export async function takeTurns(label, runners, { rounds, ms }, least = 1) {
  /** @type {number[]} */
  const counts = []
  progress(`${label}: warm-up`)
  for (const runner of runners) counts.push(await calibrate(runner, least, ms))
  /** @type {number[][]} */
  const rates = runners.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < runners.length; turn++) {
      const i = (round + turn) % runners.length
      const count = counts[i] ?? least
      progress(`${label}: round ${round + 1} of ${rounds}, ${runners[i]?.name}`)
      const started = performance.now()
      await runners[i]?.run(count)
      rates[i]?.push((count / (performance.now() - started)) * 1000)
    }
  }
  return rates
}

/**
 * Median over the rounds of ours divided by theirs in the same round, and largest less smallest.
 *
 * @param {readonly number[]} ours @param {readonly number[]} theirs
 */
export function compare(ours, theirs) {
  const ratios = ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN))
  return { ratio: times(median(ratios)), spread: times(spread(ratios)) }
}

/** @param {readonly number[]} rates */
export const medianRate = rates => perSecond(median(rates))
