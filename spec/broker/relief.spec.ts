import { beforeEach, describe, expect, it } from 'vitest'
import { Budget } from '../../src/broker/budget.js'
import { Relief } from '../../src/broker/relief.js'

const KIB = 1024
const LIMIT = 1024 * KIB

interface Session {
  readonly name: number
  readonly outbox: { bytes: number }
}

describe('room made when the memory of a broker is used up', () => {
  let budget: Budget
  let sessions: Map<number, Session>
  let ended: number[]
  let relief: Relief<Session>

  beforeEach(() => {
    budget = new Budget(LIMIT)
    sessions = new Map()
    ended = []
    relief = new Relief(budget, session => {
      ended.push(session.name)
      budget.give(session.outbox.bytes)
      sessions.delete(session.name)
    })
  })

  /** @param sizes - of what waits in a session each, KiB */
  const hold = (...sizes: readonly number[]): void => {
    for (const [name, size] of sizes.entries()) {
      sessions.set(name, { name, outbox: { bytes: size * KIB } })
      budget.count(size * KIB)
    }
  }

  it('is an eighth of it, by the end of the sessions that hold most', () => {
    hold(100, 300, 200, 250, 350)
    relief.make(sessions, 0)
    expect(ended).toEqual([4])
    expect(budget.used).toBe(850 * KIB)
  })

  it('is made at once again, however much comes at the same time', () => {
    for (let round = 0; round < 10; round++) {
      hold(...Array.from({ length: 20 }, () => 90))
      relief.make(sessions, 0)
      expect(budget.used).toBeLessThanOrEqual((7 / 8) * LIMIT)
      sessions.clear()
      budget.give(budget.used)
    }
  })

  it('is found where all are small, but many', () => {
    hold(...Array.from({ length: 1_000 }, () => 2))
    relief.make(sessions, 0)
    expect(budget.used).toBeLessThanOrEqual((7 / 8) * LIMIT)
  })

  it('is not looked for among those who hold little when others took it all', () => {
    budget.count(LIMIT)
    hold(1, 2, 3)
    relief.make(sessions, 0)
    expect(ended).toEqual([])
  })

  it('is looked for again after ten milliseconds when it did not suffice', () => {
    budget.count(2 * LIMIT)
    hold(500)
    relief.make(sessions, 0)
    hold(500)
    relief.make(sessions, 9)
    expect(ended).toEqual([0])
    relief.make(sessions, 10)
    expect(ended).toEqual([0, 0])
  })
})
