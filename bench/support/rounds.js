import { cpuTime } from './cpu.js'
import { median, microseconds, perSecond, progress, spread, times } from './report.js'

/**
 * The duration of a measurement.
 *
 * @typedef {object} Effort
 * @property {boolean} quick
 * @property {number} rounds
 * @property {number} ms - approximate time per contestant and round
 */

/**
 * One side of a comparison. `run` repeats an operation `count` times and resolves when all runs are done. `pid` is the
 * process whose CPU time is measured.
 *
 * @typedef {{ name: string, run: (count: number) => Promise<unknown>, pid?: number | undefined }} Runner
 */

/**
 * Rates per second and CPU times of an operation, ms, by round. Without a `pid` there are no CPU times.
 *
 * @typedef {{ name: string, rates: number[], costs: number[] }} Measured
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
 * Runs a task for each contestant in each round. Each round begins with another contestant, so that other load on the
 * machine affects all contestants equally.
 *
 * @template {{ name: string }} T
 * @param {string} label
 * @param {readonly T[]} contestants
 * @param {number} rounds
 * @param {(contestant: T) => Promise<unknown>} task
 */
export async function inTurns(label, contestants, rounds, task) {
  for (let round = 0; round < rounds; round++) {
    const first = round % contestants.length
    for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      progress(`${label}: round ${round + 1} of ${rounds}, ${contestant.name}`)
      await task(contestant)
    }
  }
}

/**
 * Measures rates in each round; contestants take turns.
 *
 * @param {string} label
 * @param {readonly Runner[]} runners
 * @param {Effort} effort
 * @param {number} minCount - minimum operations per run: several times the number in flight
 * @returns {Promise<Measured[]>} in the order of `runners`
 */
export async function takeTurns(label, runners, { rounds, ms }, minCount = 1) {
  progress(`${label}: warm-up`)
  const measured = []
  for (const runner of runners) {
    const count = await calibrate(runner, minCount, ms)
    measured.push({ ...runner, count, rates: /** @type {number[]} */ ([]), costs: /** @type {number[]} */ ([]) })
  }
  await inTurns(label, measured, rounds, async ({ run, count, pid, rates, costs }) => {
    const cpuBefore = pid === undefined ? 0 : cpuTime(pid)
    const started = performance.now()
    await run(count)
    rates.push((count / (performance.now() - started)) * 1000)
    if (pid !== undefined) costs.push((cpuTime(pid) - cpuBefore) / count)
  })
  return measured
}

/**
 * Returns the median ratio of two series within a round, and the difference between the largest and the smallest ratio.
 *
 * @param {readonly number[]} numerators @param {readonly number[]} denominators
 */
export function compare(numerators, denominators) {
  const ratios = numerators.map((each, round) => each / (denominators[round] ?? Number.NaN))
  return { ratio: times(median(ratios)), spread: times(spread(ratios)) }
}

/** @param {readonly number[]} rates */
export const medianRate = rates => perSecond(median(rates))

/**
 * Returns the name and the table cells of each contestant: its rate, the CPU time of an operation if measured, and how
 * the first contestant compares with it.
 *
 * @param {readonly Measured[]} measured
 * @param {string} [header] - of the ratio
 * @returns {{ name: string, cells: Record<string, import('./report.js').Cell> }[]}
 */
export function compareWithFirst(measured, header = 'ours / theirs') {
  return measured.map(({ name, rates, costs }, i) => {
    const rate = { rate: medianRate(rates) }
    const cells = costs.length === 0 ? rate : { ...rate, CPU: microseconds(1000 * median(costs)) }
    const [first] = measured
    if (i === 0 || first === undefined) return { name, cells }
    const { ratio, spread } = compare(first.rates, rates)
    const compared = { ...cells, [header]: ratio, spread }
    if (costs.length === 0) return { name, cells: compared }
    return { name, cells: { ...compared, 'CPU, theirs / ours': compare(costs, first.costs).ratio } }
  })
}
