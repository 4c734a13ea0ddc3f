import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { utf8 } from '../../../src/core/util/bytes.js'
import type { LoginRequest } from '../../../src/server/access/login.js'
import { formatPasswordFile, hashPassword, Passwords, parsePasswordFile } from '../../../src/server/access/passwords.js'

/** A hash of the password `wonder` with a negligible cost. */
const HASH = `$scrypt$ln=1,r=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$${await cheapDigest()}`

async function cheapDigest(): Promise<string> {
  const { scryptSync } = await import('node:crypto')
  return scryptSync('wonder', Buffer.alloc(16), 32, { N: 2, r: 1, p: 1 }).toString('base64').replace(/=+$/, '')
}

const login = (
  username: string | undefined,
  password: string | undefined,
  more: Partial<LoginRequest> = {},
): LoginRequest => ({
  clientId: 'c',
  username,
  password: password === undefined ? undefined : utf8(password),
  method: undefined,
  data: undefined,
  state: undefined,
  certificate: undefined,
  remoteAddress: undefined,
  listener: 'mqtt',
  ...more,
})

const WRONG = { refused: 'credentials', reason: 'user name or password is wrong' }

describe('password authentication', () => {
  it('a correct password identifies the user, with the attributes from the file', async () => {
    const { method } = new Passwords(`# users\n\nalice:${HASH}:building=17&site=a%3Ab\nbob:${HASH}\n`)
    const attributes = { building: '17', site: 'a:b' }
    const alice = { principal: { id: 'password alice', username: 'alice', attributes } }
    // The second login skips the computation of the hash.
    for (const _ of [1, 2]) expect(await method(login('alice', 'wonder'))).toEqual(alice)
    expect(await method(login('bob', 'wonder'))).toMatchObject({ principal: { attributes: {} } })
  })

  it.each([
    ['another password', 'alice', 'wander'],
    ['no password', 'alice', ''],
    ['an unknown user', 'mallory', 'wonder'],
    ['a user named like an object property', '__proto__', 'wonder'],
    ['a very long password', 'alice', 'wonder'.repeat(10_000)],
  ])('%s is rejected with the same message', async (_, username, password) => {
    const { method } = new Passwords(`alice:${HASH}`)
    expect(await method(login(username, password))).toEqual(WRONG)
    expect(await method(login('alice', 'wonder'))).toHaveProperty('principal')
    expect(await method(login(username, password))).toEqual(WRONG)
  })

  it.each([
    ['a request without credentials', login(undefined, undefined)],
    ['a user name without password', login('alice', undefined)],
    ['enhanced authentication', { ...login('alice', 'wonder'), method: 'K8S-SAT' }],
  ])('passes %s to the next method', async (_, request) => {
    expect(await new Passwords(`alice:${HASH}`).method(request)).toBeUndefined()
  })

  it('after a reload, passwords of the previous file are rejected', async () => {
    const passwords = new Passwords(`alice:${HASH}`)
    expect(await passwords.method(login('alice', 'wonder'))).toHaveProperty('principal')
    passwords.load(`bob:${HASH}`)
    expect(await passwords.method(login('alice', 'wonder'))).toEqual(WRONG)
    expect(() => passwords.load('bob')).toThrow(/^line 1: /)
    expect(await passwords.method(login('bob', 'wonder'))).toHaveProperty('principal')
  })

  it('a reload during a password check affects the result only if the entry of that user changes', async () => {
    const other = await hashPassword(utf8('another'))
    const checkDuringReload = async (password: string, file: string) => {
      const passwords = new Passwords(`alice:${HASH}`)
      const verdict = passwords.method(login('alice', password))
      passwords.load(file)
      return verdict
    }
    expect(await checkDuringReload('wonder', `bob:${HASH}\nalice:${HASH}:site=b`)).toMatchObject({
      principal: { username: 'alice', attributes: { site: 'b' } },
    })
    expect(await checkDuringReload('wonder', `alice:${other}`)).toEqual(WRONG)
    expect(await checkDuringReload('another', `alice:${other}`)).toMatchObject({ principal: { username: 'alice' } })
    expect(await checkDuringReload('wonder', `bob:${HASH}`)).toEqual(WRONG)
  })

  it('hashing one password twice yields different hashes, and the password matches both', async () => {
    const [one, two] = [await hashPassword(utf8('wonder')), await hashPassword(utf8('wonder'))]
    expect(one).not.toBe(two)
    const { method } = new Passwords(`a:${one}\nb:${two}`)
    expect(await Promise.all([method(login('a', 'wonder')), method(login('b', 'wonder'))])).toMatchObject([
      { principal: { username: 'a' } },
      { principal: { username: 'b' } },
    ])
  })
})

describe('password checks', () => {
  /** Returns `ask`, with which a client guesses a password, and the outcomes in order. */
  const open = () => {
    const { method } = new Passwords(`alice:${HASH}`)
    const done: string[] = []
    const ask = async (name: string, more: Partial<LoginRequest>, password = 'guess'): Promise<void> => {
      const result = (await method(login('alice', password, more))) ?? {}
      done.push(`${name}: ${'refused' in result ? result.refused : 'in'}`)
    }
    return { ask, done }
  }

  it('alternate between addresses', async () => {
    const { ask, done } = open()
    const guesses = Array.from({ length: 200 }, () => ask('guess', { remoteAddress: '192.0.2.1' }))
    await ask('alice', { remoteAddress: '192.0.2.2' }, 'wonder')
    expect(done.indexOf('alice: in')).toBeLessThan(6)
    await Promise.all(guesses)
  })

  it('a full queue rejects a check of the address with the most queued checks', async () => {
    const { ask, done } = open()
    const guesses = Array.from({ length: 1_002 }, () => ask('guess', { remoteAddress: '192.0.2.1' }))
    const late = ask('late', { remoteAddress: '192.0.2.1' })
    const alice = ask('alice', { remoteAddress: '192.0.2.2' }, 'wonder')
    await Promise.all([...guesses, late, alice])
    expect(done.filter(line => line.endsWith('busy')).sort()).toEqual(['guess: busy', 'late: busy'])
    expect(done).toContain('alice: in')
  })

  it('the queued check of a disconnected client is dropped', async () => {
    const { ask, done } = open()
    const clients = Array.from({ length: 20 }, () => new AbortController())
    const guesses = clients.map(({ signal }) => ask('gone', { signal }))
    for (const client of clients) client.abort()
    await Promise.all(guesses)
    expect(done.filter(line => line === 'gone: busy').length).toBeGreaterThanOrEqual(18)
    await ask('alice', {}, 'wonder')
    expect(done.at(-1)).toBe('alice: in')
  })
})

describe('a password file', () => {
  it.each([
    ['a name without hash', 'alice', /^line 1: expected a hash/],
    ['a password instead of a hash', '\nalice:wonder', /^line 2: expected a hash/],
    ['no name', `:${HASH}`, /^line 1: expected a user name/],
    ['a duplicate name', `a:${HASH}\nb:${HASH}\na:${HASH}`, /^line 3: the user a already has a line$/],
    ['an unknown field', `a:${HASH}:x=1:y`, /^line 1: expected a hash/],
    [
      'a hash that exceeds the memory limit',
      'a:$scrypt$ln=30,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      /^line 1/,
    ],
    [
      'a hash with a cost of zero',
      'a:$scrypt$ln=0,r=0,p=0$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      /^line 1/,
    ],
  ])('with %s is rejected', (_, text, words) => {
    expect(() => parsePasswordFile(text)).toThrow(words)
  })

  it('formatting and parsing a password file preserves users with any attributes', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9 _.-]{1,20}$/).filter(text => !text.startsWith(' '))
    const attributes = fc.dictionary(fc.string({ minLength: 1 }), fc.string())
    const user = fc.record({ name, attributes, hash: fc.constant(HASH) })
    fc.assert(
      fc.property(fc.uniqueArray(user, { selector: ({ name }) => name }), users => {
        const written = parsePasswordFile(formatPasswordFile(users))
        const wellFormed = users.map(each => ({
          ...each,
          attributes: Object.fromEntries(new URLSearchParams(new URLSearchParams(each.attributes).toString())),
        }))
        expect([...written.values()]).toEqual(wellFormed)
      }),
    )
  })
})
