import { beforeEach, describe, expect, it } from 'vitest'
import { Timeouts } from '../../../src/core/util/timeouts.js'
import { MemoryBudget } from '../../../src/node/limits/memory-budget.js'
import { type Evictable, MemoryEvictor } from '../../../src/node/limits/memory-evictor.js'
import { ManualClock } from '../../support/manual-clock.js'

describe('MemoryBudget', () => {
  it('a reservation succeeds up to the limit and fails beyond it', () => {
    const budget = new MemoryBudget(100)
    expect(budget.tryReserve(60)).toBe(true)
    expect(budget.tryReserve(41)).toBe(false)
    expect(budget.tryReserve(40)).toBe(true)
    expect(budget.used).toBe(100)
    expect(budget.isExceeded).toBe(false)
  })

  it('released bytes can be reserved again', () => {
    const budget = new MemoryBudget(100)
    budget.tryReserve(100)
    budget.release(30)
    expect(budget.tryReserve(30)).toBe(true)
  })

  it('an adjustment is counted even beyond the limit, and the budget reports the excess', () => {
    const budget = new MemoryBudget(100)
    budget.adjust(101)
    expect(budget.isExceeded).toBe(true)
    expect(budget.tryReserve(0)).toBe(false)
    budget.adjust(-1)
    expect(budget.isExceeded).toBe(false)
  })
})

const KIB = 1024
const LIMIT = 1024 * KIB

describe('MemoryEvictor', () => {
  let clock: ManualClock
  let budget: MemoryBudget
  let sessions: Map<unknown, Evictable>
  let connections: Set<Evictable>
  let ended: string[]
  let evictor: MemoryEvictor

  beforeEach(() => {
    clock = new ManualClock()
    budget = new MemoryBudget(LIMIT, undefined, () => evictor.scheduleEviction())
    sessions = new Map()
    connections = new Set()
    ended = []
    const timeouts = new Timeouts<() => void>(clock, task => task())
    evictor = new MemoryEvictor({ clock, timeouts, budget }, sessions, connections)
  })

  const evictable = (
    name: string,
    size: number,
    owner: string | undefined,
    onEvicted: (self: Evictable) => void,
    underway = 0,
  ): Evictable => {
    const self = {
      heldBytes: size * KIB,
      transientBytes: underway * KIB,
      accountName: owner,
      evict: () => {
        ended.push(name)
        budget.release(self.heldBytes + self.transientBytes)
        onEvicted(self)
      },
    }
    budget.adjust(self.heldBytes + self.transientBytes)
    return self
  }
  const session = (name: string, size: number, owner = ''): void => {
    sessions.set(
      name,
      evictable(name, size, owner, () => sessions.delete(name)),
    )
  }
  const connection = (name: string, size: number, owner?: string, underway = 0): void => {
    connections.add(evictable(name, size, owner, self => connections.delete(self), underway))
  }
  /** @param sizes - the sizes of the queued messages in KiB, one session each */
  const hold = (...sizes: readonly number[]): void => {
    for (const [name, size] of sizes.entries()) session(`s${name}`, size)
  }

  it('eviction ends the largest sessions until an eighth of the budget is free', () => {
    hold(100, 300, 200, 250, 350)
    evictor.evict()
    expect(ended).toEqual(['s4'])
    expect(budget.used).toBe(850 * KIB)
  })

  it('each of several evictions within the same millisecond frees memory', () => {
    for (let round = 0; round < 10; round++) {
      hold(...Array.from({ length: 20 }, () => 90))
      evictor.evict()
      expect(budget.used).toBeLessThanOrEqual((7 / 8) * LIMIT)
      sessions.clear()
      budget.release(budget.used)
    }
  })

  it('eviction ends small sessions when there are many of them', () => {
    hold(...Array.from({ length: 1_000 }, () => 2))
    evictor.evict()
    expect(budget.used).toBeLessThanOrEqual((7 / 8) * LIMIT)
  })

  it('eviction spares sessions that hold little memory when others use up the budget', () => {
    budget.adjust(LIMIT)
    hold(1, 2, 3)
    evictor.evict()
    expect(ended).toEqual([])
  })

  it('a failed eviction is repeated after ten milliseconds', () => {
    budget.adjust(2 * LIMIT)
    hold(500)
    evictor.evict()
    hold(500)
    clock.advance(9)
    evictor.evict()
    expect(ended).toEqual(['s0'])
    clock.advance(1)
    evictor.evict()
    expect(ended).toEqual(['s0', 's0'])
  })

  it('the interval between evictions grows with the number of sessions', () => {
    budget.adjust(2 * LIMIT)
    for (let n = 0; n < 50_000; n++) session(`s${n}`, 0)
    evictor.evict()
    session('large', 500)
    clock.advance(100)
    evictor.evict()
    expect(ended).toEqual([])
    clock.advance(11)
    evictor.evict()
    expect(ended).toEqual(['large'])
  })

  it('connections precede sessions, unauthenticated ones first and then the largest', () => {
    session('large', 400)
    connection('small', 60)
    connection('friend', 300, 'panel')
    connection('stranger', 100)
    connection('another', 200)
    budget.adjust(LIMIT)
    evictor.evict()
    expect(ended).toEqual(['another', 'stranger', 'friend', 'large'])
  })

  it('sessions are not evicted while evicting connections frees enough memory', () => {
    session('large', 600)
    connection('a', 70)
    connection('b', 160)
    connection('c', 300)
    evictor.evict()
    expect(ended).toEqual(['c'])
  })

  it('transient connection memory precedes sessions, from the owner with the most of it', () => {
    session('large', 90, 'panel')
    connection('reader', 0, 'panel', 80)
    for (let n = 0; n < 10; n++) connection(`m${n}`, 0, 'mallory', 90)
    evictor.evict()
    expect(ended).toEqual(['m0', 'm1'])
  })

  it('transient memory is not evicted while evicting other memory is sufficient', () => {
    connection('reader', 0, 'mallory', 880)
    connection('half', 200, 'panel')
    evictor.evict()
    expect(ended).toEqual(['half'])
  })

  it('the owner with the most memory comes first, not the owner of the largest item', () => {
    session('innocent', 200, 'panel')
    for (let n = 0; n < 10; n++) session(`m${n}`, 90, 'mallory')
    evictor.evict()
    expect(ended).toEqual(['m0', 'm1', 'm2'])
  })

  it('evictions alternate between owners that hold equally much', () => {
    for (let n = 0; n < 6; n++) session(`a${n}`, 90, 'ann')
    for (let n = 0; n < 6; n++) session(`m${n}`, 90, 'mallory')
    evictor.evict()
    expect(ended).toEqual(['a0', 'm0', 'a1'])
  })

  it('many small sessions of an owner weigh as much as one large session', () => {
    session('innocent', 300, 'panel')
    for (let n = 0; n < 200; n++) session(`m${n}`, 2, 'mallory')
    budget.adjust(330 * KIB)
    evictor.evict()
    expect(ended[0]).toBe('m0')
  })

  it('small sessions without an account are spared', () => {
    for (let n = 0; n < 200; n++) session(`s${n}`, 1)
    budget.adjust(LIMIT)
    evictor.evict()
    expect(ended).toEqual([])
  })

  it('a reservation beyond the limit schedules an eviction of connections only', () => {
    session('large', 500)
    connection('a', 200)
    connection('b', 300)
    expect(budget.tryReserve(100 * KIB)).toBe(false)
    expect(ended).toEqual([])
    clock.advance(0)
    expect(ended).toEqual(['b'])
    expect(budget.tryReserve(100 * KIB)).toBe(true)
  })

  it('scheduled evictions observe the minimum interval', () => {
    hold(1_020)
    for (let n = 0; n < 5; n++) {
      expect(budget.tryReserve(100 * KIB)).toBe(false)
      clock.advance(0)
    }
    connection('a', 300)
    clock.advance(9)
    expect(ended).toEqual([])
    clock.advance(1)
    expect(ended).toEqual(['a'])
  })

  it.each([false, true])('nothing is evicted for memory that expired data holds (more is left: %s)', isLeft => {
    const timeouts = new Timeouts<() => void>(clock, task => task())
    const discardExpired = (hasEnoughFree: () => boolean): boolean => {
      if (hasEnoughFree()) return false
      budget.release(512 * KIB)
      return isLeft
    }
    evictor = new MemoryEvictor({ clock, timeouts, budget, discardExpired }, sessions, connections)
    const size = 512 * KIB + 1
    sessions.set('live', { heldBytes: size, transientBytes: 0, accountName: 'a', evict: () => ended.push('live') })
    budget.adjust(size + 512 * KIB)
    evictor.evict()
    expect([ended, budget.used]).toEqual([[], size])
  })
})
