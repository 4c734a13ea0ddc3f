import { describe, expect, it } from 'vitest'
import { checkDirectory } from '../../../src/server/storage/directory.js'
import { Random } from '../../simulation/random.js'
import { bundledProgram } from '../../support/bundle.js'
import { SEED } from '../../support/effort.js'
import { freePort } from '../../support/free-port.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { CrashScenario } from './crash-scenario.js'

/** The number of kills. For manual runs: `KILLS=5000 npx vitest run ... spec/system/crash`. */
const KILLS = Number(process.env['KILLS'] ?? 40)
/**
 * The lifetime of most processes, in ms. One in five lives longer and replaces its log by a snapshot. A process lives
 * on while something has not been observed yet.
 */
const MAX_LIFETIME_MS = 100
const LONG_LIFETIME_FACTOR = 3

const pause = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const program = bundledProgram(new URL('store-script.ts', import.meta.url))

async function killRepeatedly(signal: 'SIGKILL' | 'SIGTERM', kills: number, seed: number): Promise<void> {
  const data = temporaryFolder()
  const random = new Random(seed)
  // The port is not derived from the seed, so that two identical runs at the same time do not use the same port.
  const scenario = new CrashScenario(program(), data, await freePort(), () => random.next())
  const { writers, watch, holders } = scenario
  const observed = (): number[] => {
    const { alive, expired } = writers.expiries.observed
    return [writers.answeredWrites, watch.entries, holders.holderChanges, alive, expired]
  }
  await scenario.start()
  // On a busy machine, the first processes may end before they respond.
  for (let kill = 1; kill <= kills || observed().includes(0); kill++) {
    if (random.chance(0.2)) holders.passLease()
    const maxLifetimeMs = MAX_LIFETIME_MS * (random.chance(0.2) ? LONG_LIFETIME_FACTOR : 1) * Math.max(1, kill / kills)
    await scenario.write(async () => pause(random.next() * maxLifetimeMs), signal)
    if (kill % 10 === 0) await checkDirectory(data)
    await scenario.start()
    expect(
      await scenario.findViolations(),
      `seed ${seed}: after ${kill} kills, ${writers.answeredWrites} answers`,
    ).toEqual([])
    if (kill % 100 === 0) console.info(`${kill} times ${signal}, ${writers.answeredWrites} writes were answered so far`)
  }
  await scenario.end()
  const { alive, expired } = writers.expiries.observed
  console.info(
    `${kills} times ${signal}, ${writers.answeredWrites} writes were answered and none was lost; ${watch.entries} entries were ` +
      `watched, the lease was held ${holders.holderChanges} times, ${alive} keys had not expired yet, ${expired} had`,
  )
}

describe(`a store with a directory that is killed ${KILLS} times (seed ${SEED})`, () => {
  it.each([
    ['SIGKILL', KILLS],
    ['SIGTERM', Math.min(KILLS, 20)],
  ] as const)(
    '%s: acknowledged and observed values survive, versions and tokens increase, keys expire in time, and watches and leases continue',
    async (signal, kills) => {
      // Two stores run at a time, because each of them mostly waits.
      await Promise.all([
        killRepeatedly(signal, Math.ceil(kills / 2), SEED),
        killRepeatedly(signal, Math.floor(kills / 2), SEED + 1),
      ])
    },
    20_000 + 15_000 * KILLS,
  )
})
