import { expect, it } from 'vitest'
import { LoginTurns } from '../../src/identity/login-turns.js'
import { ManualClock } from '../support/manual-clock.js'

const NEVER = new Promise<never>(() => undefined)

/** What was begun, in order. */
function open() {
  const clock = new ManualClock()
  const turns = new LoginTurns(clock)
  const begun: string[] = []
  const login = (name: string, end: Promise<unknown>, address = '192.0.2.1'): void => {
    void turns.run(address, () => {
      begun.push(name)
      return end
    })
  }
  const settled = async (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  return { clock, begun, login, settled }
}

it('Logins of one address wait for each other, those of another do not', async () => {
  const { begun, login, settled } = open()
  let finish: (value?: unknown) => void = () => undefined
  for (let i = 0; i < 16; i++) login('slow', new Promise(resolve => (finish = resolve)))
  login('late', Promise.resolve())
  login('elsewhere', Promise.resolve(), '198.51.100.1')
  expect(begun.slice(16)).toEqual(['elsewhere'])
  finish()
  await settled()
  expect(begun.slice(16)).toEqual(['elsewhere', 'late'])
})

it('A login that never ends keeps nobody out for longer than its connection lives', async () => {
  const { clock, begun, login, settled } = open()
  for (let i = 0; i < 16; i++) login('hangs', NEVER)
  login('good', Promise.resolve())
  clock.advance(9_999)
  await settled()
  expect(begun).not.toContain('good')
  clock.advance(1)
  await settled()
  expect(begun).toContain('good')
  expect(clock.pending).toBe(0)
})
