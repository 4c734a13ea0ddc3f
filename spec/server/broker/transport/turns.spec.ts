import { describe, expect, it } from 'vitest'
import { afterIo } from '../../../../src/core/util/clock.js'
import { Turns } from '../../../../src/server/broker/transport/turns.js'
import { ManualClock } from '../../../support/manual-clock.js'

const turn = (): Promise<void> => new Promise(resolve => afterIo(() => afterIo(resolve)))

/** Has so many pieces of work, each of which takes so long, ms. */
const worker = (clock: ManualClock, log: string[], name: string, pieces: number, each: number) => {
  let left = pieces
  return (until: number): boolean => {
    while (left > 0) {
      left--
      log.push(name)
      clock.advance(each)
      if (clock.monotonic() >= until) break
    }
    return left > 0
  }
}

describe('Turns', () => {
  it('does at once what fits into a slice', () => {
    const clock = new ManualClock()
    const log: string[] = []
    new Turns(clock).begin(worker(clock, log, 'a', 5, 0.01))
    expect(log).toHaveLength(5)
  })

  it('has no more time for many small pieces than for a large one', async () => {
    const clock = new ManualClock()
    const turns = new Turns(clock)
    let done = 0
    const small = (): boolean => {
      done++
      clock.advance(0.1)
      return false
    }
    const begun = Array.from({ length: 200 }, () => turns.begin(small))
    expect(begun.lastIndexOf(true) + 1).toBe(done)
    expect(done).toBeLessThan(100)
    await turn()
    expect(done).toBeGreaterThan(100)
    while (done < 200) await turn()
  })

  it('interrupts what does not, and goes on in the next turn', async () => {
    const clock = new ManualClock()
    const log: string[] = []
    new Turns(clock).begin(worker(clock, log, 'a', 30, 1))
    const first = log.length
    expect(first).toBeLessThan(30)
    await turn()
    expect(log.length).toBeGreaterThan(first)
    while (log.length < 30) await turn()
  })

  it('gives everybody a slice before anybody has a second one', async () => {
    const clock = new ManualClock()
    const log: string[] = []
    const turns = new Turns(clock)
    for (const name of ['a', 'b', 'c']) turns.begin(worker(clock, log, name, 100, 1))
    log.length = 0
    while (log.length < 60) await turn()
    const order = log.filter((name, i) => name !== log[i - 1]).slice(0, 6)
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('asks nobody again who has nothing left', async () => {
    const clock = new ManualClock()
    let asked = 0
    new Turns(clock).begin(() => ++asked < 3)
    for (let i = 0; i < 6; i++) await turn()
    expect(asked).toBe(3)
  })
})
