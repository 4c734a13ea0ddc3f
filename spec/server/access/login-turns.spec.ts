import { describe, expect, it } from 'vitest'
import { LoginScheduler } from '../../../src/server/access/login-service.js'
import { ManualClock } from '../../support/manual-clock.js'

const NEVER = new Promise<never>(() => undefined)
const ELSEWHERE = '198.51.100.1'

/** Records started logins, and rejected ones with their reason, in order. */
function open() {
  const clock = new ManualClock()
  const turns = new LoginScheduler(clock)
  const begun: string[] = []
  const refused: string[] = []
  const login = (name: string, end: Promise<object>, address = '192.0.2.1', signal?: AbortSignal): void => {
    const task = (): Promise<object> => {
      begun.push(name)
      return end
    }
    void turns.run(address, name, task, signal).then(outcome => {
      if (typeof outcome === 'string') refused.push(`${name}: ${outcome}`)
    })
  }
  const hangs = (count: number, name: string | ((n: number) => string), address?: string): void => {
    for (let n = 0; n < count; n++) login(typeof name === 'string' ? name : name(n), NEVER, address)
  }
  const settled = async (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
  }
  return { clock, begun, refused, login, hangs, settled, pass }
}

describe('logins of one address', () => {
  it('logins above the limit of an address are queued, those of other addresses are not', async () => {
    const { begun, login, settled } = open()
    let finish: (value: object) => void = () => undefined
    for (let i = 0; i < 16; i++) login('slow', new Promise(resolve => (finish = resolve)))
    login('late', Promise.resolve({}))
    login('elsewhere', Promise.resolve({}), ELSEWHERE)
    expect(begun.slice(16)).toEqual(['elsewhere'])
    finish({})
    await settled()
    expect(begun.slice(16)).toEqual(['elsewhere', 'late'])
  })

  it('a login that never completes releases its slot after one second', async () => {
    const { clock, begun, hangs, login, pass } = open()
    hangs(16, 'hangs')
    login('good', Promise.resolve({}))
    await pass(999)
    expect(begun).not.toContain('good')
    await pass(1)
    expect(begun).toContain('good')
    expect(clock.pending).toBe(0)
  })

  it('user names are served round-robin, however many logins one name has queued', async () => {
    const { begun, hangs, login, pass } = open()
    hangs(16 + 500, 'hangs')
    login('good', Promise.resolve({}))
    await pass(1_000)
    expect(begun.indexOf('good')).toBeLessThanOrEqual(17)
  })

  it('a queued login is rejected after five seconds', async () => {
    const { begun, refused, hangs, pass, clock } = open()
    hangs(16 + 200, n => `hangs ${n}`)
    for (let second = 0; second < 4; second++) await pass(1_000)
    await pass(999)
    expect([begun.length, refused]).toEqual([16 + 4 * 16, []])
    await pass(1)
    expect(refused.length).toBeGreaterThanOrEqual(200 - 5 * 16)
    expect(begun.length + refused.length).toBe(16 + 200)
    expect(new Set(refused.map(line => line.split(': ').at(-1)))).toEqual(new Set(['rate']))
    await pass(1_000)
    expect(clock.pending).toBe(0)
  })

  it('the queued login of a disconnected client takes no slot', async () => {
    const { begun, refused, hangs, login, settled, pass, clock } = open()
    hangs(16, 'hangs')
    const clients = Array.from({ length: 1_000 }, () => new AbortController())
    for (const { signal } of clients) login('gone', NEVER, '192.0.2.1', signal)
    for (const client of clients) client.abort()
    await settled()
    expect(refused).toEqual(Array(1_000).fill('gone: gone'))
    login('good', Promise.resolve({}))
    await pass(1_000)
    expect(begun.slice(16)).toEqual(['good'])
    expect(clock.pending).toBe(0)
  })

  it('with a thousand logins queued, only a name with fewer of them is still queued', async () => {
    const { begun, refused, hangs, login, settled, pass } = open()
    hangs(16 + 1_000, 'hangs')
    hangs(1, 'hangs')
    await settled()
    expect(refused).toEqual(['hangs: rate'])
    login('good', Promise.resolve({}))
    await settled()
    expect(refused).toEqual(['hangs: rate', 'hangs: rate'])
    await pass(1_000)
    expect(begun).toContain('good')
  })

  it('with ten thousand logins queued at all addresses, another one is rejected immediately', async () => {
    const { refused, hangs, login, settled, begun } = open()
    for (let at = 0; at < 10; at++) hangs(16 + 1_000, n => `${n}`, `192.0.2.${at}`)
    hangs(17, 'late', ELSEWHERE)
    await settled()
    expect(refused).toEqual(['late: busy'])
    login('good', Promise.resolve({}), '203.0.113.1')
    expect(begun).toContain('good')
  })
})

it('a login that fails with an error releases its slot', async () => {
  const { clock, begun, login, hangs, settled } = open()
  const turns = new LoginScheduler(clock)
  await expect(turns.run(ELSEWHERE, 'a', async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(clock.pending).toBe(0)
  hangs(15, 'hangs')
  login('quick', Promise.resolve({}))
  await settled()
  login('next', Promise.resolve({}))
  expect(begun.at(-1)).toBe('next')
})
