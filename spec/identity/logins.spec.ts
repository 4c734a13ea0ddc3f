import { describe, expect, it } from 'vitest'
import type { LoginRequest } from '../../src/identity/login.js'
import { Logins } from '../../src/identity/logins.js'
import { ManualClock } from '../support/manual-clock.js'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

const requestOf = (of: Partial<LoginRequest>): LoginRequest => ({
  clientId: 'c',
  username: undefined,
  password: undefined,
  method: undefined,
  data: undefined,
  state: undefined,
  certificate: undefined,
  remoteAddress: '192.0.2.1',
  listener: 'mqtt',
  signal: undefined,
  ...of,
})

/** Lets in whoever says the password, under the user name that `nameOf` makes of the one it gives. */
function open(nameOf: (username: string | undefined) => string | undefined) {
  const right = 'right'
  const logins = new Logins(({ username, password }) => {
    if (new TextDecoder().decode(password) !== right) return { refused: 'credentials', reason: 'wrong' }
    return { principal: { id: 'somebody', username: nameOf(username), attributes: {} } }
  }, new ManualClock())
  const login = async (username: string, password = right): Promise<void> => {
    const request = requestOf({ username, password: utf8(password) })
    const outcome = await logins.ask(request)
    if ('principal' in outcome) logins.succeeded(request, outcome.principal)
  }
  const guess = async (username: string): Promise<void> => {
    for (let n = 0; n < 5; n++) await login(username, 'guess')
  }
  return { login, guess, isKept: (username: string) => logins.objection(requestOf({ username })) !== undefined }
}

describe('Logins', () => {
  it('keep nobody waiting for the guesses of others who has come in from there under its name', async () => {
    const { login, guess, isKept } = open(username => username)
    await login('panel')
    await guess('reader')
    expect([isKept('panel'), isKept('reader'), isKept('another')]).toEqual([false, true, true])
    await guess('panel')
    expect(isKept('panel')).toBe(true)
  })

  it.each([['token'], [undefined]])('do not take a name for that of somebody who is called %s', async own => {
    const { login, guess, isKept } = open(() => own)
    await login('panel')
    await guess('reader')
    expect(isKept('panel')).toBe(true)
  })
})
