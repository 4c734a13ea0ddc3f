import { median, perSecond, progress, spread, times } from './report.js'

/**
 * The duration of a measurement.
 *
 * @typedef {object} Effort
 * @property {boolean} quick
 * @property {number} rounds
 * @property {number} ms - approximate time per contestant and round
 */

/**
 * One side of a comparison. `run` repeats an operation `count` times and resolves when all runs are done.
 *
 * @typedef {{ name: string, run: (count: number) => Promise<unknown> }} Runner
 */

/**
 * Doubles the count until a run is long enough to measure the rate, which also warms up the runner.
 *
 * @param {Runner} runner @param {number} minCount @param {number} ms
 * @returns {Promise<number>} count that takes about `ms`
 */
async function calibrate({ run }, minCount, ms) {
  for (let count = minCount; ; count *= 2) {
    const started = performance.now()
    await run(count)
    const took = performance.now() - started
    if (took > ms / 2) return Math.max(minCount, Math.round((count / took) * ms))
  }
}

/**
 * Runs both verbs, so that the code is optimised before the first measurement.
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
 * Measures rates per second in each round. Contestants take turns, and each round begins with another one, so that
 * other load on the machine affects all contestants equally.
 *
 * @param {string} label
 * @param {readonly Runner[]} runners
 * @param {Effort} effort
 * @param {number} minCount - minimum operations per run: several times the number in flight
 * @returns {Promise<number[][]>} rates by runner and round
 */
export async function takeTurns(label, runners, { rounds, ms }, minCount = 1) {
  /** @type {number[]} */
  const counts = []
  progress(`${label}: warm-up`)
  for (const runner of runners) counts.push(await calibrate(runner, minCount, ms))
  /** @type {number[][]} */
  const rates = runners.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < runners.length; turn++) {
      const i = (round + turn) % runners.length
      const count = counts[i] ?? minCount
      progress(`${label}: round ${round + 1} of ${rounds}, ${runners[i]?.name}`)
      const started = performance.now()
      await runners[i]?.run(count)
      rates[i]?.push((count / (performance.now() - started)) * 1000)
    }
  }
  return rates
}

/**
 * Returns the median ratio of our rate to theirs within a round, and the difference between the largest and the
 * smallest ratio.
 *
 * @param {readonly number[]} ours @param {readonly number[]} theirs
 */
export function compare(ours, theirs) {
  const ratios = ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN))
  return { ratio: times(median(ratios)), spread: times(spread(ratios)) }
}

/** @param {readonly number[]} rates */
export const medianRate = rates => perSecond(median(rates))
