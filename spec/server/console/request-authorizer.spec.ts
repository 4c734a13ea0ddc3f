import { describe, expect, it } from 'vitest'
import { openConsole, pageOf, rawRequest } from './open-console.js'

describe('The token', () => {
  it('consists of 32 random bytes', async () => {
    const [a, b] = [await openConsole(), await openConsole()]
    // The token has 32 bytes.
    expect(a.server.token).toMatch(/^[\w-]{43}$/)
    expect(a.server.token).not.toBe(b.server.token)
    expect(a.server.link).toBe(`${a.server.url}#token=${a.server.token}`)
  })

  it('a request with the token is accepted', async () => {
    const { callApi } = await openConsole()
    expect((await callApi('api/store')).status).toBe(200)
  })

  it.each([
    ['no token', undefined],
    ['an empty token', 'Bearer '],
    ['a wrong token', `Bearer ${'x'.repeat(43)}`],
    ['a very long token', `Bearer ${'x'.repeat(10_000)}`],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
  ])('a request with %s is rejected', async (_, authorization) => {
    const open = await openConsole()
    for (const path of ['/api/store', '/api/stream', '/api/dump', '/api/nothing']) {
      const answer = await rawRequest(open, path, authorization ? { headers: { authorization } } : {})
      expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'token' })
    }
    for (const path of ['/api/restart', '/api/load', '/api/replace', '/api/reset']) {
      expect(await rawRequest(open, path, { method: 'POST' })).toMatchObject({ status: 401 })
    }
  })

  it('a request is rejected if its token is incomplete, altered, or in the wrong place', async () => {
    const open = await openConsole()
    const { token } = open.server
    for (const part of [token.slice(1), token.slice(0, -1), `${token}x`, token.toUpperCase()]) {
      expect(await rawRequest(open, '/api/store', { headers: { authorization: `Bearer ${part}` } })).toMatchObject({
        status: 401,
      })
    }
    for (const path of [`/api/store?token=${token}`, `/api/store#token=${token}`]) {
      expect(await rawRequest(open, path)).toMatchObject({ status: 401 })
    }
    expect(await rawRequest(open, '/api/store', { headers: { cookie: `token=${token}` } })).toMatchObject({
      status: 401,
    })
  })
})

describe('Host and origin checks', () => {
  const authorized = (token: string) => ({ authorization: `Bearer ${token}` })

  it.each(['127.0.0.1', 'localhost', 'LOCALHOST:9999', '127.0.0.1:1', '[::1]:8080', '192.168.1.7'])(
    'the host %s is accepted',
    async host => {
      const open = await openConsole()
      const headers = { ...authorized(open.server.token), host }
      expect(await rawRequest(open, '/api/store', { headers })).toMatchObject({ status: 200 })
    },
  )

  it.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'x@127.0.0.1',
    '127.0.0.1/',
    '[127.0.0.1]x',
    '0x7f.1',
  ])('the host %j is rejected by page and API', async host => {
    const open = await openConsole({ page: await pageOf({ 'page/index.html': 'page' }) })
    for (const path of ['/', '/api/store']) {
      const answer = await rawRequest(open, path, { headers: { ...authorized(open.server.token), host } })
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([403, 'host'])
    }
  })

  it('the configured host name is accepted', async () => {
    const open = await openConsole({ host: 'LocalHost' })
    const headers = { ...authorized(open.server.token), host: 'localhost:17' }
    expect(await rawRequest(open, '/api/store', { headers })).toMatchObject({ status: 200 })
  })

  it("requests of the console page are accepted under any of the page's host names", async () => {
    const open = await openConsole()
    for (const host of ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080']) {
      const headers = {
        ...authorized(open.server.token),
        host,
        origin: `http://${host}`,
        'sec-fetch-site': 'same-origin',
      }
      expect(await rawRequest(open, '/api/store', { headers })).toMatchObject({ status: 200 })
    }
  })

  it.each([
    { origin: 'https://evil.example' },
    { origin: 'http://127.0.0.1:8081' },
    { origin: 'null' },
    { origin: '' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('a request from another origin is rejected even with the token: %j', async foreign => {
    const open = await openConsole()
    const headers = { ...authorized(open.server.token), host: '127.0.0.1:8080', ...foreign }
    const answer = await rawRequest(open, '/api/store', { headers })
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([403, 'origin'])
    expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control'))).toEqual([])
  })

  it('preflight requests are rejected', async () => {
    const open = await openConsole()
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const answer = await rawRequest(open, '/api/restart', { method: 'OPTIONS', headers })
    expect(answer.status).toBe(403)
    expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control'))).toEqual([])
  })

  it('the console listens on loopback by default', async () => {
    const { server } = await openConsole()
    expect(new URL(server.url).hostname).toBe('127.0.0.1')
    const open = await openConsole({ host: '0.0.0.0' })
    expect(new URL(open.server.url).hostname).toBe('127.0.0.1')
    expect((await open.callApi('api/store')).status).toBe(200)
  })

  it('the console listens on IPv6', async () => {
    const open = await openConsole({ host: '::1' })
    expect(open.server.url).toMatch(/^http:\/\/\[::1\]:\d+\/$/)
    expect((await open.callApi('api/store')).status).toBe(200)
  })
})
