import { describe, expect, it } from 'vitest'
import { SEED } from '../../../support/effort.js'
import { openScene, prepareScenes, startStore } from '../support/scene.js'
import { Fuzzer, findCulprit } from './fuzzer.js'
import { shrink } from './shrink.js'

prepareScenes()

/** For manual runs: FUZZ_PACKETS=10000000. For a single session: SEED=its seed FUZZ_PACKETS=1. */
const PACKETS = Number(process.env['FUZZ_PACKETS'] ?? 60_000)
/** The timeout in ms. Allows for a few hundred packets per second on a busy machine. */
const TIMEOUT_MS = 2 * (60_000 + PACKETS)

describe('the listening sockets', () => {
  it(`survive ${PACKETS} mutated packets without affecting other clients; SEED=${SEED}`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const scene = await openScene({ maxBufferedBytes: 64 * 1024 * 1024 })
    const fuzzer = new Fuzzer(scene.store, SEED)
    const began = performance.now()
    await scene.runAttack(
      async () => {
        await fuzzer.run(PACKETS)
        if (!scene.store.ended) return
        const found = await findCulprit(fuzzer.suspects, startStore)
        expect.fail(`${scene.store.exitStatus}\n${JSON.stringify(found ?? { seeds: fuzzer.suspects }, undefined, 2)}`)
      },
      // Other specs run at the same time.
      { mustComplete: true, maxRoundMs: 5_000 },
    )
    const seconds = ((performance.now() - began) / 1_000).toFixed(0)
    console.info(
      `${fuzzer.packets} mutated packets looked at in ${fuzzer.sessions} sessions, ${seconds} s, SEED=${SEED}`,
    )
    expect(fuzzer.packets).toBeGreaterThanOrEqual(PACKETS)
    await scene.expectRecovered()
  })
})

describe('shrink', () => {
  it('finds exactly the bytes that cause a failure', async () => {
    const packets = ['hello', 'first', 'nothing', 'and the second one', 'bye'].map(word => Buffer.from(word))
    const does = async (rest: readonly Buffer[]): Promise<boolean> => /f.*\n.*nd/.test(rest.join('\n'))
    expect((await shrink(packets, does)).map(String)).toEqual(['f', 'nd'])
  })
})
