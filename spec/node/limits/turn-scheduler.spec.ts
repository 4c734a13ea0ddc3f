import { describe, expect, it } from 'vitest'
import { afterIo } from '../../../src/core/util/clock.js'
import { SMALL_MESSAGE_BYTES, TurnScheduler, WRITE_BYTES_PER_TURN } from '../../../src/node/limits/turn-scheduler.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openTurnScheduler } from '../../support/turn-scheduler.js'

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const turn = (): Promise<void> => new Promise(resolve => afterIo(() => afterIo(resolve)))

/** Returns work with the given number of pieces, each of which takes `each` milliseconds. */
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

describe('work in slices', () => {
  it('the scheduler immediately runs work that fits into a slice', () => {
    const clock = new ManualClock()
    const log: string[] = []
    openTurnScheduler(clock).run(worker(clock, log, 'a', 5, 0.01))
    expect(log).toHaveLength(5)
  })

  it('the scheduler limits many small pieces of work to the same time as one large piece', async () => {
    const clock = new ManualClock()
    const scheduler = openTurnScheduler(clock)
    let done = 0
    const small = (): boolean => {
      done++
      clock.advance(0.1)
      return false
    }
    const results = Array.from({ length: 200 }, () => scheduler.run(small))
    expect(results.lastIndexOf(true) + 1).toBe(done)
    expect(done).toBeLessThan(100)
    await turn()
    expect(done).toBeGreaterThan(100)
    while (done < 200) await turn()
  })

  it('work beyond its slice is interrupted and continued in the next iteration', async () => {
    const clock = new ManualClock()
    const log: string[] = []
    openTurnScheduler(clock).run(worker(clock, log, 'a', 30, 1))
    const first = log.length
    expect(first).toBeLessThan(30)
    await turn()
    expect(log.length).toBeGreaterThan(first)
    while (log.length < 30) await turn()
  })

  it('every waiting connection gets one slice before any gets a second one', async () => {
    const clock = new ManualClock()
    const log: string[] = []
    const scheduler = openTurnScheduler(clock)
    for (const name of ['a', 'b', 'c']) scheduler.run(worker(clock, log, name, 100, 1))
    log.length = 0
    while (log.length < 60) await turn()
    const order = log.filter((name, i) => name !== log[i - 1]).slice(0, 6)
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('the scheduler does not run completed work again', async () => {
    const clock = new ManualClock()
    let asked = 0
    openTurnScheduler(clock).run(() => ++asked < 3)
    for (let i = 0; i < 6; i++) await turn()
    expect(asked).toBe(3)
  })
})

const LARGE = WRITE_BYTES_PER_TURN / 4

/** A socket with messages of one size, which logs the messages it may write in each turn. */
class Writer {
  readonly #scheduler: TurnScheduler
  readonly #log: string[]
  readonly #name: string
  readonly #size: number
  #left: number

  constructor(scheduler: TurnScheduler, log: string[], name: string, count: number, size = LARGE) {
    this.#scheduler = scheduler
    this.#log = log
    this.#name = name
    this.#left = count
    this.#size = size
    this.resume()
  }

  resume(): void {
    while (this.#left > 0 && this.#scheduler.tryReserveWrite(this.#size, () => this.resume())) {
      this.#left--
      this.#log.push(this.#name)
    }
  }

  endTurn(): void {
    this.#log.push(`${this.#name} leaves`)
  }
}

/** Returns the messages written immediately and in each of the next turns. */
async function writesPerTurn(log: string[], count: number): Promise<string[]> {
  const turns = [log.splice(0).join(' ')]
  while (turns.length < count) {
    await nextTurn()
    turns.push(log.splice(0).join(' '))
  }
  return turns
}

describe('the bytes of a turn', () => {
  it('a turn writes a limited number of bytes, and other sockets wait in order', async () => {
    const [scheduler, log]: [TurnScheduler, string[]] = [openTurnScheduler(), []]
    for (const name of 'abcdefghij') new Writer(scheduler, log, name, 1)
    expect(await writesPerTurn(log, 4)).toEqual(['a b c d', 'e f g h', 'i j', ''])
  })

  it('a socket with more to write queues behind the waiting sockets', async () => {
    const [scheduler, log]: [TurnScheduler, string[]] = [openTurnScheduler(), []]
    new Writer(scheduler, log, 'a', 10)
    new Writer(scheduler, log, 'b', 2)
    expect(await writesPerTurn(log, 5)).toEqual(['a a a a', 'a a a a', 'b b a a', '', ''])
  })

  it('small messages are written immediately, regardless of the queue', async () => {
    const [scheduler, log]: [TurnScheduler, string[]] = [openTurnScheduler(), []]
    for (const name of 'abcdef') new Writer(scheduler, log, name, 1)
    new Writer(scheduler, log, 'small', 2, SMALL_MESSAGE_BYTES)
    expect(await writesPerTurn(log, 2)).toEqual(['a b c d small small', 'e f'])
  })

  it('a message larger than the budget of a turn is written alone', async () => {
    const [scheduler, log]: [TurnScheduler, string[]] = [openTurnScheduler(), []]
    for (const name of 'abc') new Writer(scheduler, log, name, 1, 16 * WRITE_BYTES_PER_TURN)
    expect(await writesPerTurn(log, 4)).toEqual(['a', 'b', 'c', ''])
  })

  it('written data leaves at the end of the turn and frees the budget', async () => {
    const [scheduler, log]: [TurnScheduler, string[]] = [openTurnScheduler(), []]
    const first = new Writer(scheduler, log, 'a', 4)
    scheduler.atTurnEnd(() => first.endTurn())
    new Writer(scheduler, log, 'b', 1)
    expect(await writesPerTurn(log, 3)).toEqual(['a a a a', 'a leaves b', ''])
  })
})

describe('tasks at the end of a turn', () => {
  it('run in order, and the tasks that they add run in the next turn', async () => {
    const [scheduler, done]: [TurnScheduler, string[]] = [openTurnScheduler(), []]
    scheduler.atTurnEnd(() => {
      done.push('a')
      scheduler.atTurnEnd(() => done.push('c'))
    })
    scheduler.atTurnEnd(() => done.push('b'))
    expect(done).toEqual([])
    await nextTurn()
    expect(done).toEqual(['a', 'b'])
    await nextTurn()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  it('leave fewer frames for each client when more clients are active', async () => {
    const scheduler = openTurnScheduler()
    const amounts: number[] = []
    for (const clients of [1, 9, 999]) {
      for (let n = 0; n < clients; n++) scheduler.atTurnEnd(() => undefined)
      await nextTurn()
      amounts.push(scheduler.workPerTurn)
    }
    expect(amounts).toEqual([1_000, 200, 50])
  })
})

describe('an item that throws', () => {
  const fail = (): never => {
    throw new Error('ours')
  }

  it('is reported, and all others run in the same turn', async () => {
    const [errors, done]: [unknown[], string[]] = [[], []]
    const clock = new ManualClock()
    const scheduler = new TurnScheduler(clock, error => errors.push(error))
    let isOccupied = true
    scheduler.run(() => {
      clock.advance(20)
      const wasOccupied = isOccupied
      isOccupied = false
      return wasOccupied
    })
    scheduler.atTurnEnd(fail)
    scheduler.atTurnEnd(() => done.push('task'))
    expect(scheduler.tryReserveWrite(WRITE_BYTES_PER_TURN, fail)).toBe(true)
    expect(scheduler.tryReserveWrite(WRITE_BYTES_PER_TURN, fail)).toBe(false)
    expect(scheduler.tryReserveWrite(WRITE_BYTES_PER_TURN, () => done.push('write'))).toBe(false)
    await nextTurn()
    expect([done.splice(0), errors.splice(0)]).toEqual([
      ['task', 'write'],
      [expect.any(Error), expect.any(Error)],
    ])
    scheduler.run(fail)
    expect(scheduler.run(() => done.push('work') === 0)).toBe(false)
    await nextTurn()
    await nextTurn()
    expect([done, errors]).toEqual([['work'], [expect.any(Error)]])
  })

  it('is complete, also at once, and does not stop the turns', async () => {
    const errors: unknown[] = []
    const scheduler = new TurnScheduler(new ManualClock(), error => errors.push(error))
    expect(scheduler.run(fail)).toBe(true)
    for (let n = 0; n < 3; n++) await nextTurn()
    expect(errors).toHaveLength(1)
    let isRun = false
    scheduler.atTurnEnd(() => {
      isRun = true
    })
    await nextTurn()
    expect(isRun).toBe(true)
  })
})
