import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { utf8 } from '../../../src/core/util/bytes.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import type { LoginRequest } from '../../../src/server/access/login.js'
import { Tokens } from '../../../src/server/access/tokens.js'
import { listen } from '../../support/listen.js'

const AUDIENCES = ['aio-internal', 'my-audience']
const SUBJECT = 'system:serviceaccount:line-1:panel'

type Keys = Awaited<ReturnType<typeof generateKeyPair>>
let issuerKeys: Keys
let otherKeys: Keys
let jwks: string

const jwksOf = async (...keys: readonly Keys[]): Promise<string> => {
  const all = keys.map(async ({ publicKey }, index) => ({ ...(await exportJWK(publicKey)), kid: `key-${index}` }))
  return JSON.stringify({ keys: await Promise.all(all) })
}

beforeAll(async () => {
  issuerKeys = await generateKeyPair('ES256', { extractable: true })
  otherKeys = await generateKeyPair('ES256', { extractable: true })
  jwks = await jwksOf(issuerKeys)
})

const inAnHour = (): number => Math.floor(Date.now() / 1_000) + 3_600

async function sign(claims: { readonly [name: string]: unknown } = {}, key: Keys = issuerKeys): Promise<string> {
  const all = { iss: 'https://kubernetes', sub: SUBJECT, aud: 'my-audience', exp: inAnHour(), ...claims }
  return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid: 'key-0' }).sign(key.privateKey)
}

const login = (of: Partial<LoginRequest>): LoginRequest => ({
  clientId: 'c',
  username: undefined,
  password: undefined,
  method: undefined,
  data: undefined,
  state: undefined,
  certificate: undefined,
  remoteAddress: undefined,
  listener: 'mqtts',
  ...of,
})

const loginBySat = (token: string): LoginRequest => login({ method: 'K8S-SAT', data: utf8(token) })
const REFUSED = { refused: 'credentials', reason: expect.stringMatching(/^the token is invalid: /) }
const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('token authentication', () => {
  it.each([
    ['as enhanced authentication K8S-SAT', (token: string) => loginBySat(token)],
    ['with a trailing newline, as in files', (token: string) => loginBySat(`${token}\n`)],
    ['as a password without user name', (token: string) => login({ password: utf8(token) })],
    ['as a password of the user K8S-SAT', (token: string) => login({ username: 'K8S-SAT', password: utf8(token) })],
  ])('a token is accepted %s', async (_, request) => {
    const { method } = new Tokens({ jwks, audiences: AUDIENCES })
    const exp = inAnHour()
    const token = await sign({ exp, 'aio-broker-auth/building': '17', 'aio-broker-auth/floor': 3, building: '18' })
    expect(await method(request(token))).toEqual({
      principal: {
        id: `token ["https://kubernetes","${SUBJECT}"]`,
        username: SUBJECT,
        attributes: { building: '17' },
        expiresAt: (exp + 5) * 1_000,
      },
    })
  })

  it.each([
    ['no credentials', {}],
    ['a user name and its password', { username: 'alice', password: utf8('x') }],
    ['another method', { method: 'SCRAM', data: utf8('x') }],
  ])('passes a request with %s to the next method', async (_, of) => {
    expect(await new Tokens({ jwks, audiences: AUDIENCES }).method(login(of))).toBeUndefined()
  })

  it.each<[string, () => Promise<string>]>([
    ['is expired', async () => sign({ exp: Math.floor(Date.now() / 1_000) - 10 })],
    ['never expires', async () => sign({ exp: undefined })],
    ['has no subject', async () => sign({ sub: undefined })],
    ['has an empty subject', async () => sign({ sub: '' })],
    ['has a number as subject', async () => sign({ sub: 5 })],
    ['has an object as subject', async () => sign({ sub: { name: SUBJECT } })],
    ['has a list as subject', async () => sign({ sub: [SUBJECT] })],
    ['has null as subject', async () => sign({ sub: null })],
    ['has a subject with a lone surrogate', async () => sign({ sub: '\ud800' })],
    ['has another audience', async () => sign({ aud: 'another-audience' })],
    ['has no audience', async () => sign({ aud: undefined })],
    ['is not valid yet', async () => sign({ nbf: inAnHour() })],
    ['is signed by another issuer', async () => sign({}, otherKeys)],
    [
      'is not signed',
      async () => `${base64({ alg: 'none' })}.${base64({ sub: SUBJECT, aud: 'my-audience', exp: inAnHour() })}.`,
    ],
    ['is signed with our public key as a secret', async () => signedByPublicKey()],
    ['was changed after signing', async () => tamper(await sign())],
    [
      'names an unknown key',
      async () =>
        new SignJWT({ sub: SUBJECT, aud: 'my-audience', exp: inAnHour() })
          .setProtectedHeader({ alg: 'ES256', kid: 'other' })
          .sign(issuerKeys.privateKey),
    ],
    ['brings its own key', async () => signedByEmbeddedKey()],
    ['is malformed', async () => 'a.b.c'],
    ['is empty', async () => ''],
    ['is very long', async () => 'x'.repeat(65_535)],
  ])('a token that %s is rejected', async (_, token) => {
    expect(await new Tokens({ jwks, audiences: AUDIENCES }).method(loginBySat(await token()))).toEqual(REFUSED)
  })

  it('a token of another issuer is rejected if the issuer is configured', async () => {
    const options = { jwks, audiences: AUDIENCES, issuer: 'https://kubernetes' }
    const { method } = new Tokens(options)
    expect(await method(loginBySat(await sign()))).toHaveProperty('principal')
    expect(await method(loginBySat(await sign({ iss: 'https://elsewhere' })))).toEqual(REFUSED)
  })

  it('tokens of different subjects or issuers identify different principals', async () => {
    const { method } = new Tokens({ jwks, audiences: AUDIENCES })
    const claims = [{}, { sub: 'a","b' }, { iss: 'x' }, { iss: 'x","y' }]
    const results = await Promise.all(claims.map(async claim => method(loginBySat(await sign(claim)))))
    expect(new Set(results.map(result => JSON.stringify(result))).size).toBe(4)
  })

  it('token keys can be replaced, and invalid new keys leave the previous keys in effect', async () => {
    const tokens = new Tokens({ jwks, audiences: AUDIENCES })
    expect(() => tokens.load('{')).toThrow(ArgumentError)
    expect(await tokens.method(loginBySat(await sign()))).toHaveProperty('principal')
    tokens.load(await jwksOf(otherKeys))
    expect(await tokens.method(loginBySat(await sign()))).toEqual(REFUSED)
    expect(await tokens.method(loginBySat(await sign({}, otherKeys)))).toHaveProperty('principal')
  })

  it('token keys are fetched from a URL, and logins are refused while the URL is unavailable', async () => {
    let answer: string | undefined
    const server = createServer((_, response) => {
      response.writeHead(answer === undefined ? 500 : 200, { 'content-type': 'application/json' }).end(answer)
    })
    const port = await listen(server)
    const tokens = new Tokens({ jwks: `http://127.0.0.1:${port}/`, audiences: AUDIENCES })
    const request = loginBySat(await sign())
    expect(await tokens.method(request)).toMatchObject({ refused: 'unavailable' })
    answer = jwks
    expect(await tokens.method(request)).toHaveProperty('principal')
  })

  it.each(['', '{}', '[]', 'http://example.com/keys', 'ftp://127.0.0.1/'])('%j is rejected as token keys', text => {
    expect(() => new Tokens({ jwks: text, audiences: AUDIENCES })).toThrow(ArgumentError)
  })

  it('requires an audience', () => {
    expect(() => new Tokens({ jwks, audiences: [] })).toThrow(ArgumentError)
  })
})

/** Signs a token by algorithm confusion: the public key serves as the secret of HS256. */
async function signedByPublicKey(): Promise<string> {
  const secret = utf8(JSON.stringify(await exportJWK(issuerKeys.publicKey)))
  return new SignJWT({ sub: SUBJECT, aud: 'my-audience', exp: inAnHour() })
    .setProtectedHeader({ alg: 'HS256', kid: 'key-0' })
    .sign(secret)
}

async function signedByEmbeddedKey(): Promise<string> {
  return new SignJWT({ sub: SUBJECT, aud: 'my-audience', exp: inAnHour() })
    .setProtectedHeader({ alg: 'ES256', kid: 'key-0', jwk: await exportJWK(otherKeys.publicKey) })
    .sign(otherKeys.privateKey)
}

function tamper(token: string): string {
  const [header, , signature] = token.split('.')
  return `${header}.${base64({ sub: 'admin', aud: 'my-audience', exp: inAnHour() })}.${signature}`
}
