import { createServer } from 'node:http'
import net from 'node:net'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { utf8 } from '../../../src/core/util/bytes.js'
import { firstOf, type LoginRequest } from '../../../src/server/access/login.js'
import { Tokens } from '../../../src/server/access/tokens.js'
import { listen as listenTo } from '../../support/diagnostics.js'
import { listen } from '../../support/listen.js'

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000]
const UNAVAILABLE = { refused: 'unavailable' }
const REFUSED = { refused: 'credentials' }

interface Key {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: object
}

async function createKey(kid: string, alg = 'ES256'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), alg } }
}

let first: Key
let second: Key
let other: Key

beforeAll(async () => {
  first = await createKey('first')
  second = await createKey('second')
  other = await createKey('other')
})

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
})

const setOf = (...keys: readonly Key[]): string =>
  JSON.stringify({ keys: keys.map(({ jwk, kid }) => ({ ...jwk, kid })) })

const sign = async (key: Key, kid = key.kid) => signAs({ alg: key.alg, kid }, key)
const signWithout = async (key: Key, claims = {}) => signAs({ alg: key.alg }, key, claims)

async function signAs(header: JWTHeaderParameters, key: Key, claims = {}): Promise<LoginRequest> {
  const token = await new SignJWT({ sub: 'panel', aud: 'store', exp: Date.now() / 1_000 + 100 * 3_600, ...claims })
    .setProtectedHeader(header)
    .sign(key.privateKey)
  const unused = { username: undefined, password: undefined, state: undefined, certificate: undefined }
  return { ...unused, clientId: 'c', method: 'K8S-SAT', data: utf8(token), remoteAddress: undefined, listener: 'mqtts' }
}

/** Serves the answer that the spec sets: a body, or a status. */
async function openServer() {
  const state: { answer: string | number; requests: number } = { answer: setOf(first), requests: 0 }
  const server = createServer((_, response) => {
    state.requests++
    if (typeof state.answer === 'number') response.writeHead(state.answer).end('down')
    else response.writeHead(200).end(state.answer)
  })
  const warnings: string[] = []
  const jwks = `http://127.0.0.1:${await listen(server)}/`
  const tokens = new Tokens({ jwks, audiences: ['store'], warn: warning => warnings.push(warning) })
  const login = async (key: Key) => tokens.method(await sign(key))
  return { state, tokens, login, warnings }
}

const advance = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

describe('a key server with several IP addresses', () => {
  it('each address gets a part of the timeout, which shrinks after failures', async () => {
    const { state, login } = await openServer()
    const connecting = vi.spyOn(net.Socket.prototype, 'connect')
    onTestFinished(() => connecting.mockRestore())
    state.answer = 503
    for (let i = 0; i < 3; i++) {
      await login(first)
      advance(HOUR_MS)
    }
    const times = connecting.mock.calls.map(([options]) => Object(options)[0].autoSelectFamilyAttemptTimeout)
    expect(times).toEqual([2_500, 1_250, 625])
  })
})

describe('The keys of a key server', () => {
  it.each([
    ['answers with an error', 503],
    ['answers with something else than JSON', '<html>'],
    ['answers with something else than keys', '{}'],
    ['answers with too much', JSON.stringify({ keys: [], more: 'x'.repeat(1_100_000) })],
  ])('the last keys stay in effect for a day while it %s', async (_, answer) => {
    const { state, login } = await openServer()
    expect(await login(first)).toHaveProperty('principal')
    state.answer = answer
    for (let hours = 1; hours < 24; hours++) {
      advance(HOUR_MS)
      expect(await login(first)).toHaveProperty('principal')
    }
    advance(HOUR_MS + 1)
    expect(await login(first)).toMatchObject(UNAVAILABLE)
    state.answer = setOf(first)
    expect(await login(first)).toHaveProperty('principal')
  })

  it('a token of an unknown key is refused during an outage, and accepted after it', async () => {
    const { state, login } = await openServer()
    await login(first)
    state.answer = 503
    advance(11 * MINUTE_MS)
    expect(await login(second)).toMatchObject(REFUSED)
    state.answer = setOf(second)
    advance(MINUTE_MS)
    expect(await login(second)).toHaveProperty('principal')
  })

  it('a key that the working server withdraws is refused after ten minutes', async () => {
    const { state, login } = await openServer()
    await login(first)
    state.answer = setOf(second)
    advance(11 * MINUTE_MS)
    expect(await login(first)).toMatchObject(REFUSED)
  })

  it('a failing server is asked once in ten minutes', async () => {
    const { state, login } = await openServer()
    await login(first)
    state.answer = 503
    advance(11 * MINUTE_MS)
    for (let count = 0; count < 5; count++) await login(first)
    expect(state.requests).toBe(2)
  })

  it('an outage is warned about once, counted, and reported as a problem until it ends', async () => {
    const failures = listenTo('rx-statestore:server:access')
    const { state, login, tokens, warnings } = await openServer()
    const { problem = () => undefined } = firstOf([tokens.method])
    await login(first)
    expect(problem()).toBeUndefined()
    state.answer = 503
    for (let count = 0; count < 3; count++) {
      advance(11 * MINUTE_MS)
      await login(first)
    }
    const words = /^the key server 127\.0\.0\.1:\d+ fails \(status 503\); keys of .*Z are in effect$/
    expect(warnings).toEqual([expect.stringMatching(words)])
    expect(problem()).toMatch(words)
    expect(failures).toEqual(Array(3).fill({ event: 'keys-unavailable', reason: 'status 503' }))
    state.answer = setOf(first)
    advance(11 * MINUTE_MS)
    await login(first)
    expect(warnings.at(-1)).toMatch(/works again$/)
    expect(problem()).toBeUndefined()
  })

  it('a warning has no password of the address', async () => {
    const warnings: string[] = []
    const jwks = 'https://user:hidden@keys.invalid/'
    const tokens = new Tokens({ jwks, audiences: ['store'], warn: warning => warnings.push(warning) })
    expect(await tokens.method(await sign(first))).toMatchObject(UNAVAILABLE)
    expect(warnings).toEqual([expect.stringMatching(/^the key server keys\.invalid fails/)])
    expect(warnings.join()).not.toContain('hidden')
  })
})

describe('A token without a key id', () => {
  const tokensOf = (...keys: readonly Key[]) => new Tokens({ jwks: setOf(...keys), audiences: ['store'] })

  it.each(['first', 'second'])('a token signed with the %s of two keys is accepted', async name => {
    const { method } = tokensOf(first, second)
    const header = await signWithout(name === 'first' ? first : second)
    expect(await method(header)).toHaveProperty('principal')
  })

  it('a token signed with none of the keys is rejected', async () => {
    expect(await tokensOf(first, second).method(await signWithout(other))).toMatchObject(REFUSED)
  })

  it('a token with the key of another is rejected', async () => {
    expect(await tokensOf(first, second).method(await sign(second, 'first'))).toMatchObject(REFUSED)
  })

  it('an expired token is rejected whichever key signed it', async () => {
    const request = await signWithout(second, { exp: Date.now() / 1_000 - 60 })
    expect(await tokensOf(first, second).method(request)).toMatchObject(REFUSED)
  })

  it('at most eight keys are tried', async () => {
    const keys = Array.from({ length: 8 }, (_, index) => ({ ...first, kid: `${index}` }))
    expect(await tokensOf(...keys.slice(1), second).method(await signWithout(second))).toHaveProperty('principal')
    expect(await tokensOf(...keys, second).method(await signWithout(second))).toMatchObject(REFUSED)
  })
})
