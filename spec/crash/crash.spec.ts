import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkDirectory } from '../../src/standalone/directory.js'
import { Random } from '../simulation/random.js'
import { Victim } from './victim.js'
import { Writers } from './writers.js'

/** Many in the gate; by hand `KILLS=5000 npx vitest run ... spec/crash`. */
const KILLS = Number(process.env['KILLS'] ?? (process.env['CI'] ? 200 : 2))
const SEED = Number(process.env['SEED'] ?? Date.now() % 1e9)
const CLIENTS = 4
/** A process lives so long at most, ms; longer only while nothing was answered. */
const LONGEST = 250

const pause = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

describe(`A store with a directory that is killed ${KILLS} times (seed ${SEED})`, () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    '%s: has all that it answered, and its versions rise',
    async signal => {
      expect(existsSync(new URL('../../dist/standalone.js', import.meta.url)), '`npm run build` comes first').toBe(true)
      const data = mkdtempSync(join(tmpdir(), 'crash-'))
      onTestFinished(() => rmSync(data, { recursive: true, force: true }))
      const random = new Random(SEED)
      const writers = new Writers(() => random.next())
      const kills = signal === 'SIGKILL' ? KILLS : Math.min(KILLS, 20)
      let victim = await Victim.start(data)
      // On a busy machine the first lives may be over before anything was answered.
      for (let kill = 1; kill <= kills || writers.answered === 0; kill++) {
        const write = await writers.connect(victim.url, CLIENTS)
        const writing = write()
        await pause(random.next() * LONGEST * Math.max(1, kill / kills))
        await victim.end(signal)
        await writing
        if (kill % 10 === 0) await checkDirectory(data)
        victim = await Victim.start(data)
        expect(await writers.judge(victim.url), `after ${kill} kills, ${writers.answered} answers`).toEqual([])
      }
      await victim.end('SIGTERM')
      console.info(`${kills} times ${signal}, ${writers.answered} writes were answered, none was lost`)
      expect(writers.answered).toBeGreaterThan(0)
    },
    20_000 + 5_000 * KILLS,
  )
})
