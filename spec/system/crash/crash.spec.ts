import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkDirectory } from '../../../src/server/storage/directory.js'
import { Random } from '../../simulation/random.js'
import { bundle, type Program } from '../../support/bundle.js'
import { SEED } from '../../support/effort.js'
import { freePort } from './port.js'
import { Scene } from './scene.js'

/** By hand: `KILLS=5000 npx vitest run ... spec/system/crash`. */
const KILLS = Number(process.env['KILLS'] ?? 40)
/**
 * Most processes live so long at most, ms, and one in five, which comes to replace what it has on disk, so much longer; any
 * of them only while something has not been seen yet.
 */
const LONGEST = 100
const TIMES_LONGER = 3

const pause = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** One store, killed again and again. */
async function life(program: Program, signal: 'SIGKILL' | 'SIGTERM', kills: number, seed: number): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'crash-'))
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  const random = new Random(seed)
  // Not by the seed: the same run, started twice at a time, must not meet itself.
  const scene = new Scene(program, data, await freePort(Math.random), () => random.next())
  const { writers, watch, holders } = scene
  const seen = (): number[] => {
    const { alive, over } = writers.expiries.found
    return [writers.answered, watch.entries, holders.holdings, alive, over]
  }
  await scene.start()
  // On a busy machine the first lives may be over before anything was answered.
  for (let kill = 1; kill <= kills || seen().includes(0); kill++) {
    if (random.chance(0.2)) holders.pass()
    const longest = LONGEST * (random.chance(0.2) ? TIMES_LONGER : 1) * Math.max(1, kill / kills)
    await scene.write(async () => pause(random.next() * longest), signal)
    if (kill % 10 === 0) await checkDirectory(data)
    await scene.start()
    expect(await scene.judge(), `seed ${seed}: after ${kill} kills, ${writers.answered} answers`).toEqual([])
    if (kill % 100 === 0) console.info(`${kill} times ${signal}, ${writers.answered} writes were answered so far`)
  }
  await scene.end()
  const { alive, over } = writers.expiries.found
  console.info(
    `${kills} times ${signal}, ${writers.answered} writes were answered, none was lost; ${watch.entries} entries were ` +
      `watched, the lease was held ${holders.holdings} times, ${alive} keys were to end later, ${over} had ended`,
  )
}

describe(`Stores with directories that are killed ${KILLS} times (seed ${SEED})`, () => {
  it.each([
    ['SIGKILL', KILLS],
    ['SIGTERM', Math.min(KILLS, 20)],
  ] as const)(
    '%s: have all that they answered and showed, versions and tokens rise, keys end in time, and watches and leases go on',
    async (signal, kills) => {
      await using program = await bundle(new URL('victim-process.ts', import.meta.url))
      // Two at a time: each waits for most of its time.
      await Promise.all([
        life(program, signal, Math.ceil(kills / 2), SEED),
        life(program, signal, Math.floor(kills / 2), SEED + 1),
      ])
    },
    20_000 + 15_000 * KILLS,
  )
})
