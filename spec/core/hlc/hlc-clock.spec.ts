import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advance, Hlc, HlcClock, laterTime, MAX_COUNTER, MAX_DRIFT_MS } from '../../../src/core/hlc/hlc.js'
import { HlcError } from '../../../src/core/util/errors.js'
import { effort } from '../../support/effort.js'

const NOW = 1_696_374_425_000
const LARGEST = Number.MAX_SAFE_INTEGER
const DRIFT = expect.objectContaining({ name: 'HlcError', code: 'hlc', problem: 'drift' })

const anyNodeId = fc.constantFrom('a', 'StateStore', 'z')
/** A reading near the other readings, and occasionally out of bounds. */
const anyReading = fc
  .tuple(
    fc.oneof({ weight: 9, arbitrary: fc.nat(5) }, { weight: 1, arbitrary: fc.nat(200_000) }),
    fc.oneof({ weight: 9, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.constantFrom(LARGEST - 1, LARGEST) }),
    anyNodeId,
  )
  .map(([ahead, counter, nodeId]) => new Hlc(NOW + ahead, counter, nodeId))
const anyWall = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: NOW - 5, max: NOW + 10 }) },
  { weight: 1, arbitrary: fc.integer({ min: NOW - 100_000, max: NOW + 100_000 }) },
)

/** Returns a clock named `me` with the given last reading. `counter` must be positive. */
function clockAt(wallClock: number, counter: number): HlcClock {
  const clock = new HlcClock('me', Number.POSITIVE_INFINITY)
  clock.merge(new Hlc(wallClock, counter - 1, 'other'), 0)
  return clock
}

describe('HlcClock', () => {
  it('starts with a reading that is older than any reading that a tick can return', () => {
    const clock = new HlcClock('me')
    const start = clock.last
    expect(clock.tick(0).compareTo(start)).toBeGreaterThan(0)
  })

  it('signs its readings with its node id', () => {
    const clock = new HlcClock('me')
    expect(clock.tick(NOW).nodeId).toBe('me')
    expect(clock.merge(new Hlc(NOW + 5, 0, 'other'), NOW).nodeId).toBe('me')
  })

  it.each([[''], ['a:b']])('rejects the node id %j', nodeId => {
    expect(() => new HlcClock(nodeId)).toThrow(expect.objectContaining({ problem: 'malformed' }))
  })

  it('keeps the last reading', () => {
    const clock = new HlcClock('me')
    const reading = clock.tick(NOW)
    expect(clock.last).toBe(reading)
  })

  it('only advances under any sequence of ticks and merges, and does not change on an error', () => {
    const event = fc.record({ now: anyWall, received: fc.option(anyReading, { nil: undefined }) })
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 40 }), events => {
        const clock = new HlcClock('me')
        for (const { now, received } of events) {
          const before = clock.last
          let reading: Hlc
          try {
            reading = received === undefined ? clock.tick(now) : clock.merge(received, now)
          } catch (error) {
            expect(error).toBeInstanceOf(HlcError)
            expect(clock.last).toBe(before)
            continue
          }
          expect(reading.compareTo(before)).toBeGreaterThan(0)
          if (received !== undefined) expect(reading.compareTo(received)).toBeGreaterThan(0)
          expect(reading.wallClock).toBeGreaterThanOrEqual(now)
          expect(reading.wallClock - now).toBeLessThanOrEqual(MAX_DRIFT_MS)
          expect(clock.last).toBe(reading)
        }
      }),
      { numRuns: effort(300, 60) },
    )
  })
})

describe('HlcClock.tick', () => {
  it('uses the wall clock when it has advanced', () => {
    const clock = new HlcClock('me')
    clock.tick(NOW)
    expect(String(clock.tick(NOW + 1))).toBe(`${NOW + 1}:0:me`)
  })

  it('increments the counter within one millisecond', () => {
    const clock = new HlcClock('me')
    const readings = [NOW, NOW, NOW + 0.9].map(now => String(clock.tick(now)))
    expect(readings).toEqual([`${NOW}:0:me`, `${NOW}:1:me`, `${NOW}:2:me`])
  })

  it('keeps incrementing the counter while the wall clock is set back', () => {
    const clock = new HlcClock('me')
    clock.tick(NOW)
    expect(String(clock.tick(NOW - MAX_DRIFT_MS))).toBe(`${NOW}:1:me`)
  })

  it('resets the counter in the next millisecond', () => {
    const clock = new HlcClock('me')
    clock.merge(new Hlc(NOW, 41, 'other'), NOW)
    expect(String(clock.tick(NOW + 1))).toBe(`${NOW + 1}:0:me`)
  })

  it('throws a drift error and changes nothing if the wall clock is set back past the limit', () => {
    const clock = new HlcClock('me')
    const before = clock.tick(NOW)
    expect(() => clock.tick(NOW - MAX_DRIFT_MS - 1)).toThrow(DRIFT)
    expect(clock.last).toBe(before)
    expect(String(clock.tick(NOW))).toBe(`${NOW}:1:me`)
  })

  it.each([MAX_COUNTER, MAX_COUNTER + 1, LARGEST])(
    'continues after the counter %s in the next millisecond',
    counter => {
      const clock = new HlcClock('me')
      clock.merge(new Hlc(NOW - 1, 0, 'other'), NOW - 1)
      expect(String(clock.merge(new Hlc(NOW, counter, 'other'), NOW))).toBe(`${NOW + 1}:0:me`)
      expect(String(clock.tick(NOW))).toBe(`${NOW + 1}:1:me`)
    },
  )
})

describe('HlcClock.merge', () => {
  it("merges a request of the same millisecond as in the protocol's example", () => {
    const store = new HlcClock('StateStore')
    expect(String(store.merge(Hlc.parse('1696374425000:0:CLIENT'), NOW))).toBe('1696374425000:1:StateStore')
  })

  // The local reading, the received reading, the wall clock and the result. All times are relative to NOW.
  it.each([
    ['the wall clock when the wall clock is ahead of both readings', [0, 5], [1, 7], 2, [2, 0]],
    ['the received time and the next received counter when the received time is ahead', [0, 5], [3, 7], 2, [3, 8]],
    ['the local time and the next local counter when the local time is ahead', [3, 5], [1, 7], 2, [3, 6]],
    ['the greater received counter when both times are equal', [3, 5], [3, 7], 2, [3, 8]],
    ['the greater local counter when both times are equal', [3, 7], [3, 5], 2, [3, 8]],
    ['the counter after both when the counters are also equal', [3, 5], [3, 5], 2, [3, 6]],
    ['the received counter when the wall clock equals the received time', [0, 5], [2, 7], 2, [2, 8]],
    ['the local counter when the wall clock equals the local time', [2, 5], [0, 7], 2, [2, 6]],
    ['the greater counter when all three times are equal', [2, 5], [2, 7], 2, [2, 8]],
  ] as const)(
    'continues with %s',
    (_, [localWall, localCounter], [wall, counter], now, [expectedWall, expectedCounter]) => {
      const clock = clockAt(NOW + localWall, localCounter)
      expect(clock.last).toEqual(new Hlc(NOW + localWall, localCounter, 'me'))
      const merged = clock.merge(new Hlc(NOW + wall, counter, 'other'), NOW + now)
      expect(merged).toEqual(new Hlc(NOW + expectedWall, expectedCounter, 'me'))
    },
  )

  it('follows the update rule for any local reading, received reading and wall clock', () => {
    const near = fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 3 }))
    fc.assert(
      fc.property(near, near, fc.nat(4), ([localWall, localCounter], [wall, counter], now) => {
        const clock = clockAt(NOW + localWall, localCounter)
        const merged = clock.merge(new Hlc(NOW + wall, counter, 'other'), NOW + now)
        const top = Math.max(localWall, wall)
        const counters = [localWall === top ? localCounter : -1, wall === top ? counter : -1]
        const expected = now > top ? new Hlc(NOW + now, 0, 'me') : new Hlc(NOW + top, Math.max(...counters) + 1, 'me')
        expect(merged).toEqual(expected)
      }),
      { numRuns: effort(1_000, 200) },
    )
  })

  it('returns a reading above the received one, even if the remote node id sorts later', () => {
    const clock = new HlcClock('a')
    const received = new Hlc(NOW, 0, 'z')
    expect(clock.merge(received, NOW).compareTo(received)).toBeGreaterThan(0)
  })

  it('continues from the merged reading on the next tick', () => {
    const clock = new HlcClock('me')
    clock.merge(new Hlc(NOW + 500, 3, 'other'), NOW)
    expect(String(clock.tick(NOW))).toBe(`${NOW + 500}:5:me`)
  })

  it('accepts a reading that is ahead of the wall clock by exactly the limit', () => {
    const clock = new HlcClock('me')
    expect(String(clock.merge(new Hlc(NOW + MAX_DRIFT_MS, 0, 'other'), NOW))).toBe(`${NOW + 60_000}:1:me`)
  })

  it('throws a drift error and changes nothing one millisecond beyond the limit', () => {
    const clock = new HlcClock('me')
    const before = clock.tick(NOW)
    expect(() => clock.merge(new Hlc(NOW + MAX_DRIFT_MS + 1, 0, 'other'), NOW)).toThrow(DRIFT)
    expect(clock.last).toBe(before)
  })

  it('applies a custom drift limit', () => {
    const clock = new HlcClock('me', 5)
    expect(clock.merge(new Hlc(NOW + 5, 0, 'other'), NOW).wallClock).toBe(NOW + 5)
    expect(() => clock.merge(new Hlc(NOW + 6, 0, 'other'), NOW)).toThrow(DRIFT)
  })

  it('accepts a reading from the distant past', () => {
    const clock = new HlcClock('me')
    expect(String(clock.merge(new Hlc(0, 0, 'other'), NOW))).toBe(`${NOW}:0:me`)
  })

  it('returns a counter that fits into 32 bits for any received counter', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: LARGEST }), fc.integer({ min: -1, max: 100 }), (counter, ahead) => {
        const received = new Hlc(NOW + ahead, counter, 'other')
        const merged = new HlcClock('me').merge(received, NOW)
        expect(merged.compareTo(received)).toBeGreaterThan(0)
        expect(merged.counter).toBeLessThanOrEqual(MAX_COUNTER)
      }),
    )
  })

  it('accepts an exhausted counter from an earlier millisecond', () => {
    const clock = new HlcClock('me')
    expect(String(clock.merge(new Hlc(NOW - 1, LARGEST, 'other'), NOW))).toBe(`${NOW}:0:me`)
  })
})

describe('advance', () => {
  it('returns the first reading after a given reading without keeping state', () => {
    const floor = new Hlc(NOW, 4, 'other')
    const twice = [advance(floor, NOW, 'me'), advance(floor, NOW, 'me')]
    expect(twice.map(String)).toEqual([`${NOW}:5:me`, `${NOW}:5:me`])
  })

  it('allows readings up to one minute ahead of the wall clock by default', () => {
    expect(advance(new Hlc(NOW + 60_000, 0, 'x'), NOW, 'me').wallClock).toBe(NOW + 60_000)
    expect(() => advance(new Hlc(NOW + 60_001, 0, 'x'), NOW, 'me')).toThrow(DRIFT)
    expect(() => advance(new Hlc(NOW + 11, 0, 'x'), NOW, 'me', 10)).toThrow(DRIFT)
  })
})

describe('laterTime', () => {
  it('compares the wall clocks first and then the counters', () => {
    const [low, middle, high] = [new Hlc(1, 9, 'z'), new Hlc(2, 0, 'a'), new Hlc(2, 1, 'a')]
    expect(laterTime(low, middle)).toBe(middle)
    expect(laterTime(middle, low)).toBe(middle)
    expect(laterTime(middle, high)).toBe(high)
    expect(laterTime(high, middle)).toBe(high)
  })

  it('never returns a reading with an earlier time than either argument', () => {
    fc.assert(
      fc.property(anyReading, anyReading, (a, b) => {
        const later = laterTime(a, b)
        for (const { wallClock, counter } of [a, b]) {
          expect(later.compareTo(new Hlc(wallClock, counter, later.nodeId))).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })
})
