import { describe, expect, it } from 'vitest'
import { webSocketFrame } from '../../../../harness/web-socket.js'
import { SEED } from '../../../support/effort.js'
import { attackHub } from '../support/hub-frames.js'
import { type HubScene, openHubScene, prepareHubScenes } from '../support/hub-scene.js'
import { type HubFuzzSession, hubSessionOf } from './hub-session.js'

prepareHubScenes()

/** For manual runs: FUZZ_PACKETS=10000000. For a single session: SEED=its seed FUZZ_PACKETS=1. */
const FRAMES = Number(process.env['FUZZ_PACKETS'] ?? 20_000)
/** The number of concurrent sessions, and of the users they belong to. */
const CONCURRENT_SESSIONS = 24
const USERS = 1_000
/** The number of sessions to report when the hub crashes. */
const SUSPECTS = 100
/** The time that the hub may take to answer all frames of a session, in ms. */
const MAX_ANSWER_MS = 20_000
const CLOSE = webSocketFrame(Buffer.from([0x03, 0xe8]), 8)

/** Sends the frames of a session and waits for the close that the session requests at its end. */
async function play(scene: HubScene, { seed, subprotocol, frames }: HubFuzzSession): Promise<boolean> {
  const attacker = await attackHub(scene.port, { user: `fuzz-${seed % USERS}`, mayAll: true, subprotocol })
  await attacker.send(Buffer.concat([...frames, CLOSE]))
  let late = false
  const timer = setTimeout(() => {
    late = true
    attacker.hangUp()
  }, MAX_ANSWER_MS)
  // The socket is half-closed as well, because a mutated header may announce bytes that are missing.
  attacker.socket.end()
  await attacker.closed
  clearTimeout(timer)
  return !late
}

describe('a hub under fuzzing', () => {
  it(`the hub and an innocent member survive ${FRAMES} mutated frames; SEED=${SEED}`, {
    timeout: 120_000 + 5 * FRAMES,
  }, async () => {
    const scene = await openHubScene({ retention: 1_000 })
    const suspects: number[] = []
    let next = SEED
    let frames = 0
    const late: number[] = []
    const work = async (): Promise<void> => {
      while (frames < FRAMES) {
        const session = hubSessionOf(next++)
        suspects.push(session.seed)
        if (suspects.length > SUSPECTS) suspects.shift()
        if (!(await play(scene, session))) late.push(session.seed)
        frames += session.mutated
      }
    }
    const failed = await scene
      .runAttack(async () => void (await Promise.all(Array.from({ length: CONCURRENT_SESSIONS }, work))), {
        isSlowdownJudged: false,
        maxRoundMs: Number.POSITIVE_INFINITY,
      })
      .then(
        () => undefined,
        (error: unknown) => `${error}; the last seeds: ${suspects}`,
      )
    expect({ failed, late }).toEqual({ failed: undefined, late: [] })
    await expect.poll(async () => (await scene.stats()).sessions, { timeout: 10_000 }).toBe(1)
    expect((await scene.stats()).waitingBytes).toBeLessThan(10_000)
  })
})
