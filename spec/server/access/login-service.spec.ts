import { describe, expect, it } from 'vitest'
import { certificates } from '../../../src/server/access/certificates.js'
import {
  type Authenticate,
  firstOf,
  type LoginRequest,
  type LoginResult,
  type ProofOf,
} from '../../../src/server/access/login.js'
import { LoginService, MAX_USERNAME_LENGTH } from '../../../src/server/access/login-service.js'
import { Passwords } from '../../../src/server/access/passwords.js'
import { Tokens } from '../../../src/server/access/tokens.js'
import { ManualClock } from '../../support/manual-clock.js'

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

/** Accepts every user name with the right password. `nameOf` returns the user name of the principal. */
function open(nameOf: (username: string | undefined) => string | undefined) {
  const right = 'right'
  const logins = new LoginService(({ username, password }) => {
    if (new TextDecoder().decode(password) !== right) return { refused: 'credentials', reason: 'wrong' }
    return { principal: { id: 'principal', username: nameOf(username), attributes: {} } }
  }, new ManualClock())
  const login = async (username: string, password = right): Promise<void> => {
    const request = requestOf({ username, password: utf8(password) })
    const outcome = await logins.login(request)
    if ('principal' in outcome) logins.recordSuccess(request, outcome.principal)
  }
  const guess = async (username: string): Promise<void> => {
    for (let n = 0; n < 5; n++) await login(username, 'guess')
  }
  return { login, guess, isThrottled: (username: string) => logins.rejectionFor(requestOf({ username })) !== undefined }
}

describe('the login service', () => {
  it.each(['guessable', 'verifiable'] as const)(
    'a user name over the maximum length is rejected before a %s login is checked',
    proof => {
      let checked = 0
      const authenticate = (): LoginResult => {
        checked++
        return { principal: {} }
      }
      const logins = new LoginService(Object.assign(authenticate, { proofOf: () => proof }), new ManualClock())
      const rejectionOf = (length: number) => logins.rejectionFor(requestOf({ username: 'x'.repeat(length) }))
      expect(rejectionOf(MAX_USERNAME_LENGTH)).toBeUndefined()
      expect(rejectionOf(MAX_USERNAME_LENGTH + 1)).toMatchObject({ refused: 'credentials' })
      expect(checked).toBe(0)
    },
  )

  it('failed guesses at other names do not delay a name that has logged in from the address', async () => {
    const { login, guess, isThrottled } = open(username => username)
    await login('panel')
    await guess('reader')
    expect([isThrottled('panel'), isThrottled('reader'), isThrottled('another')]).toEqual([false, true, true])
    await guess('panel')
    expect(isThrottled('panel')).toBe(true)
  })

  it.each([['token'], [undefined]])(
    'a login as a principal named %s does not reset the throttle of another user',
    async own => {
      const { login, guess, isThrottled } = open(() => own)
      await login('panel')
      await guess('reader')
      expect(isThrottled('panel')).toBe(true)
    },
  )

  it('verifiable proofs are neither throttled nor queued, and their failures not counted', async () => {
    let pending = 0
    const authenticate = async ({ password }: LoginRequest): Promise<LoginResult> => {
      if (password === undefined) return { refused: 'credentials', reason: 'the token is invalid' }
      pending++
      return new Promise(() => undefined)
    }
    const proofOf: ProofOf = ({ method }) => (method === undefined ? 'guessable' : 'verifiable')
    const logins = new LoginService(Object.assign(authenticate, { proofOf }), new ManualClock())
    const token = requestOf({ method: 'K8S-SAT' })
    for (let n = 0; n < 10; n++) expect(await logins.login(token)).toMatchObject({ refused: 'credentials' })
    expect([...logins.failedLogins.failures()]).toEqual([])
    for (let n = 0; n < 100; n++) void logins.login(requestOf({ username: `user-${n}`, password: utf8('guess') }))
    await new Promise(resolve => setImmediate(resolve))
    expect(pending).toBe(16)
    expect(await logins.login(token)).toMatchObject({ refused: 'credentials' })
  })

  it('the method that decides a login also determines whether the proof is guessable', () => {
    const password = new Passwords('').method
    const { method: token } = new Tokens({ jwks: '{"keys":[]}', audiences: ['a'] })
    const certificate = { trusted: false, subjects: [], commonNames: [], fingerprint: '', validTo: 0 }
    const proofs = (authenticate: Authenticate) =>
      [
        requestOf({ username: 'panel', password: utf8('x') }),
        requestOf({ username: 'K8S-SAT', password: utf8('x') }),
        requestOf({ method: 'K8S-SAT', data: utf8('x') }),
        requestOf({ username: 'panel', password: utf8('x'), certificate }),
        requestOf({}),
      ].map(request => authenticate.proofOf?.(request))
    const [guessable, verifiable] = ['guessable', 'verifiable']
    expect(proofs(firstOf([certificates(), token, password]))).toEqual([
      guessable,
      verifiable,
      verifiable,
      verifiable,
      undefined,
    ])
    expect(proofs(firstOf([password, token, certificates()]))).toEqual([
      guessable,
      guessable,
      verifiable,
      guessable,
      undefined,
    ])
    expect(proofs(firstOf([() => undefined, token]))).toEqual(Array(5).fill(guessable))
  })
})

describe('certificate and token checks', () => {
  it('at most four certificate and token checks run per address, and others do not wait', async () => {
    const open: (() => void)[] = []
    const authenticate = async (): Promise<LoginResult> => {
      await new Promise<void>(resolve => open.push(resolve))
      return { refused: 'credentials', reason: 'wrong' }
    }
    const proofOf: ProofOf = () => 'verifiable'
    const logins = new LoginService(Object.assign(authenticate, { proofOf }), new ManualClock())
    const asked = Array.from({ length: 64 }, async () => logins.login(requestOf({})))
    expect(open).toHaveLength(4)
    const other = logins.login(requestOf({ remoteAddress: '198.51.100.1' }))
    expect(open).toHaveLength(5)
    open[4]?.()
    expect(await other).toMatchObject({ refused: 'credentials' })
    for (let i = 0; i < 65; i++) {
      await expect.poll(() => open.length).toBeGreaterThan(i)
      open[i]?.()
    }
    expect((await Promise.all(asked)).every(outcome => 'refused' in outcome && outcome.refused === 'credentials')).toBe(
      true,
    )
  })
})
