import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { encodeReply } from '../../../src/core/protocol/replies.js'
import { Engine } from '../../../src/server/engine/engine.js'
import { VersionClock } from '../../../src/server/engine/version-clock.js'
import { effort } from '../../support/effort.js'
import { handle } from '../../support/engine-requests.js'
import { START } from '../../support/manual-clock.js'
import { isNewer } from '../../support/version.js'
import { command, textOf } from '../../support/words.js'

const DAY = 86_400_000
const LARGEST = Number.MAX_SAFE_INTEGER

/** What happens to the wall clock of the store before each request, ms. */
const jump = fc.oneof(
  { weight: 6, arbitrary: fc.nat(20) },
  { weight: 1, arbitrary: fc.constantFrom(-DAY, -120_000, -60_001, -1, 120_000, DAY) },
)
/** How far the clock of whoever asks is ahead of it, ms: as much as is allowed. */
const ahead = fc.constantFrom(0, 0, -DAY, -1, 1, 59_999, 60_000)
const line = fc.constantFrom(
  'SET k v',
  'SET k v PX 30',
  'SET k w NX',
  'SET lock me NEX PX 50',
  'DEL k',
  'VDEL k v',
  'GET k',
)
const history = fc.array(fc.record({ jump, ahead, line, counter: fc.constantFrom(0, 1, 4_294_967_295) }), {
  maxLength: 60,
})

describe('The versions of a store whose wall clock jumps', () => {
  it('only rise, and nobody with a clock within a minute of it is refused', () => {
    fc.assert(
      fc.property(history, acts => {
        const engine = new Engine<string>()
        let [now, newest] = [START, '0:0:S']
        for (const act of acts) {
          now += act.jump
          const timestamp = `${now + act.ahead}:${act.counter}:client`
          const { reply, changes } = handle(engine, { payload: command(act.line), timestamp }, 'client', now)
          expect(textOf(encodeReply(reply))).not.toMatch(/^-/)
          for (const { version } of changes) {
            expect(isNewer(String(version), newest), `${version} after ${newest}`).toBe(true)
            newest = String(version)
          }
        }
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('are tokens with which their holder may write, whenever the clock jumps', () => {
    fc.assert(
      fc.property(history, acts => {
        const engine = new Engine<string>()
        let now = START
        const ask = (words: string, fencingToken?: string) =>
          handle(engine, { payload: command(words), timestamp: `${now}:0:client`, fencingToken }, 'client', now)
        for (const act of acts) {
          now += act.jump
          const { version } = ask('SET lock me')
          now += act.jump
          expect(ask('SET guarded v', String(version)).reply).toEqual({ type: 'ok' })
        }
      }),
    )
  })

  it('never run ahead of a wall clock that does not jump by more than a client may be', () => {
    const steady = fc.array(fc.record({ wait: fc.nat(100), ahead: fc.integer({ min: -DAY, max: DAY }), line }))
    fc.assert(
      fc.property(steady, acts => {
        const engine = new Engine<string>()
        let now = START
        for (const act of acts) {
          now += act.wait
          handle(engine, { payload: command(act.line), timestamp: `${now + act.ahead}:0:client` }, 'client', now)
          expect(engine.drift(now)).toBe(0)
        }
      }),
    )
  })
})

describe('A clock of versions', () => {
  const clockAt = (wallClock: number, counter: number): VersionClock => {
    const clock = new VersionClock()
    clock.advanceTo(new Hlc(wallClock, counter, 'StateStore'))
    return clock
  }

  it('goes on in the next millisecond when its counter is at its end', () => {
    const clock = clockAt(START, LARGEST)
    expect([clock.tick(START), clock.tick(START - DAY)].map(String)).toEqual([
      `${START + 1}:1:StateStore`,
      `${START + 1}:2:StateStore`,
    ])
  })

  it('promises a version without giving it', () => {
    const clock = clockAt(START, 1)
    expect([clock.next(START), clock.next(START)].map(String)).toEqual(Array(2).fill(`${START}:2:StateStore`))
    expect(String(clock.last)).toBe(`${START}:1:StateStore`)
  })

  it('believes clocks a minute ahead of the wall clock, and what it gave itself', () => {
    expect(clockAt(START, 1).latestAccepted(START)).toBe(START + 60_000)
    expect(clockAt(START + DAY, 1).latestAccepted(START)).toBe(START + DAY)
  })

  it('drifts when it is further ahead than a client can make it', () => {
    expect([60_000, 60_001, DAY].map(ms => clockAt(START + ms, 0).drift(START))).toEqual([0, 60_001, DAY])
    expect(clockAt(START - DAY, 0).drift(START)).toBe(0)
  })
})
