import { beforeEach, describe, expect, it } from 'vitest'
import { WriteTurns } from '../../../src/pubsub/bridge/write-turns.js'
import { ManualClock } from '../../support/manual-clock.js'

const MAX_RUNNING = 1_000

let clock: ManualClock
let turns: WriteTurns
let begun: string[]
let expired: string[]

beforeEach(() => {
  clock = new ManualClock()
  turns = new WriteTurns(clock, 10_000)
  begun = []
  expired = []
})

/** Adds a write and returns the function that ends it. */
const add = (owner: string, name: string = owner): (() => void) =>
  turns.add({ owner, begin: timeout => begun.push(`${name} ${timeout}`), expired: () => expired.push(name) })

const fill = (): (() => void)[] => Array.from({ length: MAX_RUNNING }, () => add('first'))

describe('the writes of a bridge', () => {
  it('at most 1,000 writes are at the store, and each result starts a further write', () => {
    const [end] = fill()
    add('first', 'next')
    expect(begun).toHaveLength(MAX_RUNNING)
    end?.()
    end?.()
    add('first', 'last')
    expect(begun.slice(MAX_RUNNING)).toEqual(['next 10000'])
  })

  it('users take turns, and the writes of a user keep their order', () => {
    const ends = fill()
    for (const name of ['a1', 'a2', 'a3']) add('a', name)
    for (const name of ['b1', 'b2']) add('b', name)
    for (const end of ends) end()
    expect(begun.slice(MAX_RUNNING).map(text => text.split(' ')[0])).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
  })

  it('the timeout of a write includes its time in the queue', () => {
    const [end] = fill()
    add('a')
    clock.advance(4_000)
    end?.()
    expect(begun.at(-1)).toBe('a 6000')
  })

  it('a write that gets no turn in time expires and is never started', () => {
    const ends = fill()
    add('a')
    clock.advance(10_000)
    for (const end of ends) end()
    expect({ expired, started: begun.length, timers: clock.pending }).toEqual({
      expired: ['a'],
      started: MAX_RUNNING,
      timers: 0,
    })
  })

  it('a cancelled write is never started', () => {
    const ends = fill()
    add('a')()
    for (const end of ends) end()
    expect([begun.length, clock.pending]).toEqual([MAX_RUNNING, 0])
  })

  it('ten thousand writes that end synchronously do not nest', () => {
    const ends = fill()
    let depth = 0
    let deepest = 0
    for (let i = 0; i < 10_000; i++) {
      const end: { now: () => void } = { now: () => undefined }
      const begin = (): void => {
        deepest = Math.max(deepest, ++depth)
        end.now()
        depth--
      }
      end.now = turns.add({ owner: 'a', begin, expired: () => undefined })
    }
    for (const end of ends) end()
    expect(deepest).toBe(1)
  })
})
