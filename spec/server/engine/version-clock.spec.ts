import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hlc, HlcClock, MAX_COUNTER } from '../../../src/core/hlc/hlc.js'
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
const NONE = new Hlc(0, 0, 'none')

/** The adjustment of the store's wall clock before each request, in milliseconds. */
const jump = fc.oneof(
  { weight: 6, arbitrary: fc.nat(20) },
  { weight: 1, arbitrary: fc.constantFrom(-DAY, -120_000, -60_001, -1, 120_000, DAY) },
)
/** How far a client's clock is ahead of the store's, in milliseconds. Every value is within the permitted drift. */
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
const history = fc.array(fc.record({ jump, ahead, line, counter: fc.constantFrom(0, 1, 4_294_967_295, LARGEST) }), {
  maxLength: 60,
})

describe('Versions while the wall clock jumps', () => {
  it('versions only increase, and clients may be up to a minute ahead of the wall clock', () => {
    fc.assert(
      fc.property(history, requests => {
        const engine = new Engine<string>()
        let [now, newest] = [START, '0:0:S']
        for (const request of requests) {
          now += request.jump
          const timestamp = `${now + request.ahead}:${request.counter}:client`
          const { reply, changes } = handle(engine, { payload: command(request.line), timestamp }, 'client', now)
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

  it('a version remains a valid fencing token when the clock jumps', () => {
    fc.assert(
      fc.property(history, requests => {
        const engine = new Engine<string>()
        let now = START
        const execute = (words: string, fencingToken?: string) =>
          handle(engine, { payload: command(words), timestamp: `${now}:0:client`, fencingToken }, 'client', now)
        for (const request of requests) {
          now += request.jump
          const { version } = execute('SET lock me')
          now += request.jump
          expect(execute('SET guarded v', String(version)).reply).toEqual({ type: 'ok' })
        }
      }),
    )
  })

  it('versions stay within the permitted drift as long as the wall clock does not jump', () => {
    const steady = fc.array(fc.record({ wait: fc.nat(100), ahead: fc.integer({ min: -DAY, max: DAY }), line }))
    fc.assert(
      fc.property(steady, requests => {
        const engine = new Engine<string>()
        let now = START
        for (const request of requests) {
          now += request.wait
          handle(
            engine,
            { payload: command(request.line), timestamp: `${now + request.ahead}:0:client` },
            'client',
            now,
          )
          expect(engine.drift(now)).toBe(0)
        }
      }),
    )
  })
})

describe('VersionClock', () => {
  const clockAt = (wallClock: number, counter: number): VersionClock => {
    const clock = new VersionClock()
    clock.advanceTo(new Hlc(wallClock, counter, 'StateStore'))
    return clock
  }

  it('after its counter is exhausted, the clock continues in the next millisecond', () => {
    const clock = clockAt(START, LARGEST)
    expect([clock.tick(START), clock.tick(START - DAY)].map(String)).toEqual([
      `${START + 1}:0:StateStore`,
      `${START + 1}:1:StateStore`,
    ])
  })

  it("a clock that merges every version is never rejected for another client's counter", () => {
    for (const counter of [MAX_COUNTER - 1, MAX_COUNTER, 2 ** 32 - 1, 2 ** 32, LARGEST]) {
      const engine = new Engine<string>()
      const set = (timestamp: Hlc) =>
        handle(engine, { payload: command('SET k v'), timestamp: String(timestamp) }, 'client', START)
      const { version = NONE } = set(new Hlc(START + 50_000, counter, 'mallory'))
      expect(version.counter).toBeLessThanOrEqual(MAX_COUNTER)
      const merging = new HlcClock('panel')
      merging.merge(version, START)
      for (let write = 0; write < 3; write++) {
        const { reply, version: next = NONE } = set(merging.tick(START))
        expect(encodeReply(reply)).toEqual(encodeReply({ type: 'ok' }))
        merging.merge(next, START)
      }
    }
  })

  it('while versions are ahead of the clock, counters cannot push them further ahead', () => {
    const clock = clockAt(START + DAY, 7)
    const accepts = (wallClock: number, counter: number) => clock.isAccepted(new Hlc(wallClock, counter, 'c'), START)
    expect(accepts(START + DAY - 1, LARGEST)).toBe(true)
    expect(accepts(START + DAY, 7 + MAX_COUNTER)).toBe(true)
    expect(accepts(START + DAY, 8 + MAX_COUNTER)).toBe(false)
    expect(accepts(START + DAY + 1, 0)).toBe(false)
  })

  it('next returns a version without assigning it', () => {
    const clock = clockAt(START, 1)
    expect([clock.next(START), clock.next(START)].map(String)).toEqual(Array(2).fill(`${START}:2:StateStore`))
    expect(String(clock.last)).toBe(`${START}:1:StateStore`)
  })

  it('the clock accepts clocks up to a minute ahead of the wall clock, and all assigned versions', () => {
    const accepts = (last: number, wallClock: number) => clockAt(last, 1).isAccepted(new Hlc(wallClock, 1, 'c'), START)
    expect([60_000, 60_001].map(ms => accepts(START, START + ms))).toEqual([true, false])
    expect([DAY, DAY + 1].map(ms => accepts(START + DAY, START + ms))).toEqual([true, false])
  })

  it('the clock reports drift when versions are further ahead than a client can cause', () => {
    expect([60_000, 60_001, DAY].map(ms => clockAt(START + ms, 0).drift(START))).toEqual([0, 60_001, DAY])
    expect(clockAt(START - DAY, 0).drift(START)).toBe(0)
  })
})
