import { describe, expect, it } from 'vitest'
import { LoginScheduler } from '../../../src/server/access/login-service.js'
import { ManualClock } from '../../support/manual-clock.js'

const NEVER = new Promise<never>(() => undefined)
const ELSEWHERE = '198.51.100.1'

/** Records the logins that were started, and the rejected logins with the reasons, in order. */
function open() {
  const clock = new ManualClock()
  const scheduler = new LoginScheduler(clock)
  const started: string[] = []
  const rejected: string[] = []
  const login = (name: string, end: Promise<object>, address = '192.0.2.1', signal?: AbortSignal): void => {
    const task = (): Promise<object> => {
      started.push(name)
      return end
    }
    void scheduler.run(address, name, task, signal).then(outcome => {
      if (typeof outcome === 'string') rejected.push(`${name}: ${outcome}`)
    })
  }
  const startHanging = (count: number, name: string | ((n: number) => string), address?: string): void => {
    for (let n = 0; n < count; n++) login(typeof name === 'string' ? name : name(n), NEVER, address)
  }
  const settled = async (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
  }
  return { clock, started, rejected, login, startHanging, settled, pass }
}

describe('logins of one address', () => {
  it('logins above the limit of an address are queued, but logins of other addresses are not', async () => {
    const { started, login, settled } = open()
    let finish: (value: object) => void = () => undefined
    for (let i = 0; i < 16; i++) login('slow', new Promise(resolve => (finish = resolve)))
    login('late', Promise.resolve({}))
    login('elsewhere', Promise.resolve({}), ELSEWHERE)
    expect(started.slice(16)).toEqual(['elsewhere'])
    finish({})
    await settled()
    expect(started.slice(16)).toEqual(['elsewhere', 'late'])
  })

  it('a login that never completes releases its slot after one second', async () => {
    const { clock, started, startHanging, login, pass } = open()
    startHanging(16, 'hangs')
    login('good', Promise.resolve({}))
    await pass(999)
    expect(started).not.toContain('good')
    await pass(1)
    expect(started).toContain('good')
    expect(clock.pending).toBe(0)
  })

  it('user names are served round-robin, regardless of how many logins one name has queued', async () => {
    const { started, startHanging, login, pass } = open()
    startHanging(16 + 500, 'hangs')
    login('good', Promise.resolve({}))
    await pass(1_000)
    expect(started.indexOf('good')).toBeLessThanOrEqual(17)
  })

  it('queued logins with long names that differ only at the end cost no more than others', () => {
    const padding = 'x'.repeat(20_000)
    const names = (nameOf: (n: number) => string): string[] =>
      Array.from({ length: 16 + 900 }, (_, n) => Buffer.from(nameOf(n)).toString())
    /** Returns the processor time in microseconds, which other processes do not change. */
    const costOf = (all: readonly string[]): number => {
      const { startHanging } = open()
      const before = process.cpuUsage()
      startHanging(all.length, n => all[n] ?? '')
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    /** Returns the lowest of several costs, which includes no garbage collection. */
    const leastCostOf = (all: readonly string[]): number => Math.min(...[1, 2, 3].map(() => costOf(all)))
    const differingAtStart = leastCostOf(names(n => `${n}${padding}`))
    const differingAtEnd = leastCostOf(names(n => `${padding}${n}`))
    expect(differingAtEnd).toBeLessThan(5 * differingAtStart)
  })

  it('a queued login is rejected after five seconds', async () => {
    const { started, rejected, startHanging, pass, clock } = open()
    startHanging(16 + 200, n => `hangs ${n}`)
    for (let second = 0; second < 4; second++) await pass(1_000)
    await pass(999)
    expect([started.length, rejected]).toEqual([16 + 4 * 16, []])
    await pass(1)
    expect(rejected.length).toBeGreaterThanOrEqual(200 - 5 * 16)
    expect(started.length + rejected.length).toBe(16 + 200)
    expect(new Set(rejected.map(line => line.split(': ').at(-1)))).toEqual(new Set(['rate']))
    await pass(1_000)
    expect(clock.pending).toBe(0)
  })

  it('the queued login of a disconnected client takes no slot', async () => {
    const { started, rejected, startHanging, login, settled, pass, clock } = open()
    startHanging(16, 'hangs')
    const clients = Array.from({ length: 1_000 }, () => new AbortController())
    for (const { signal } of clients) login('gone', NEVER, '192.0.2.1', signal)
    for (const client of clients) client.abort()
    await settled()
    expect(rejected).toEqual(Array(1_000).fill('gone: gone'))
    login('good', Promise.resolve({}))
    await pass(1_000)
    expect(started.slice(16)).toEqual(['good'])
    expect(clock.pending).toBe(0)
  })

  it('a new name displaces a login of the name with the most of a thousand queued logins', async () => {
    const { started, rejected, startHanging, login, settled, pass } = open()
    startHanging(16 + 1_000, 'hangs')
    startHanging(1, 'hangs')
    await settled()
    expect(rejected).toEqual(['hangs: rate'])
    login('good', Promise.resolve({}))
    await settled()
    expect(rejected).toEqual(['hangs: rate', 'hangs: rate'])
    await pass(1_000)
    expect(started).toContain('good')
  })

  it('a login is rejected immediately while ten thousand logins are queued in total', async () => {
    const { rejected, startHanging, login, settled, started } = open()
    for (let at = 0; at < 10; at++) startHanging(16 + 1_000, n => `${n}`, `192.0.2.${at}`)
    startHanging(17, 'late', ELSEWHERE)
    await settled()
    expect(rejected).toEqual(['late: busy'])
    login('good', Promise.resolve({}), '203.0.113.1')
    expect(started).toContain('good')
  })
})

it('a login that fails with an error frees its slot', async () => {
  const { clock, started, login, startHanging, settled } = open()
  const scheduler = new LoginScheduler(clock)
  await expect(scheduler.run(ELSEWHERE, 'a', async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(clock.pending).toBe(0)
  startHanging(15, 'hangs')
  login('quick', Promise.resolve({}))
  await settled()
  login('next', Promise.resolve({}))
  expect(started.at(-1)).toBe('next')
})
