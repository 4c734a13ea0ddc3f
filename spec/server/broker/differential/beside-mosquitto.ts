import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type StoreServer, serve } from '../../../../src/server/index.js'
import { nightly, SEED } from '../../../support/effort.js'
import { Mosquitto } from '../../../support/mosquitto.js'
import { compareAll } from './compare.js'
import { LENGTH } from './generate-script.js'
import type { Target } from './run-script.js'
import type { Flavour } from './script.js'

/** The numbers of steps per run. The nightly run has more than 100,000 steps in total. */
const STEPS = nightly<Record<Flavour, number>>(
  { disjoint: 48_000, overlapping: 40_000, shared: 12_800 },
  { disjoint: 8_000, overlapping: 8_000, shared: 3_200 },
)

/** Compares our broker with Mosquitto in random scripts and known regressions. `SEED=n` starts with the given seed. */
export function besideMosquitto(
  flavour: Flavour,
  regressions: readonly (readonly [what: string, seed: number])[] = [],
): void {
  const count = STEPS[flavour] / LENGTH

  describe('beside Mosquitto', () => {
    let store: StoreServer
    let mosquitto: Mosquitto
    let targets: readonly [Target, Target]

    beforeAll(async () => {
      store = await serve({ port: 0, wsPort: 0 })
      mosquitto = await Mosquitto.start()
      targets = [
        { name: 'ours', port: Number(new URL(store.url).port), mergesOverlapping: true },
        { name: 'Mosquitto', port: mosquitto.port, mergesOverlapping: false },
      ]
    })

    afterAll(async () => {
      await mosquitto.stop()
      await store.close()
    })

    it(`our broker and Mosquitto send the same packets in ${count} random scripts`, { timeout: 600_000 }, async () => {
      const { steps, differences } = await compareAll(targets, { flavour, first: SEED, count })
      console.info(`${steps} steps in ${count} scripts (${flavour}) from SEED=${SEED}`)
      expect(differences).toEqual([])
    })

    it.each(regressions)('our broker and Mosquitto send the same packets in the regression: %s', async (_, seed) => {
      const { differences } = await compareAll(targets, { flavour, first: seed, count: 1 })
      expect(differences).toEqual([])
    })
  })
}
