import { describe, expect, it } from 'vitest'
import { openConsole, pageOf, rawRequest } from './open-console.js'

const FILES = {
  'page/index.html': '<!doctype html>',
  'page/icon.svg': '<svg/>',
  'page/assets/index-Cfe2mVl9.js': 'export {}',
  'page/assets/index-a1b2c3d4.css': 'a{}',
  'page/assets/inter-latin.woff2': 'font',
  'page/assets/deep/er.json': '{}',
  'page/.env': 'secret',
  'page/notes.md': 'secret',
  'secret.txt': 'secret',
  'page-of-another/secret.txt': 'secret',
}

describe('The page', () => {
  const open = async () => openConsole({ page: await pageOf(FILES) })

  it.each([
    ['/', '<!doctype html>', 'text/html; charset=utf-8'],
    ['/index.html', '<!doctype html>', 'text/html; charset=utf-8'],
    ['/?what=ever', '<!doctype html>', 'text/html; charset=utf-8'],
    ['/icon.svg', '<svg/>', 'image/svg+xml'],
    ['/assets/index-Cfe2mVl9.js', 'export {}', 'text/javascript; charset=utf-8'],
    ['/assets/index-a1b2c3d4.css', 'a{}', 'text/css; charset=utf-8'],
    ['/assets/inter-latin.woff2', 'font', 'font/woff2'],
    ['/assets/deep/er.json', '{}', 'application/json'],
  ])('GET %s returns the file', async (path, text, type) => {
    const answer = await rawRequest(await open(), path)
    expect(answer).toMatchObject({
      status: 200,
      text,
      headers: { 'content-type': type, 'content-length': String(text.length) },
    })
  })

  it.each([
    ['gzip, deflate, br', 'gzip'],
    ['br;q=1.0, gzip;q=0.8', 'gzip'],
    ['gzip;q=0', undefined],
    ['deflate', undefined],
    ['', undefined],
  ])('a script is compressed if the client accepts it: %s', async (accepted, encoding) => {
    const script = 'export const words = [1, 2, 3]\n'.repeat(100)
    const console = await openConsole({ page: await pageOf({ ...FILES, 'page/assets/large-a1b2c3d4.js': script }) })
    const url = new URL('/assets/large-a1b2c3d4.js', console.server.url)
    const answer = await rawRequest(console, url.pathname, { headers: { 'accept-encoding': accepted } })
    expect(answer.headers).toMatchObject({ vary: 'accept-encoding' })
    expect(answer.headers['content-encoding']).toBe(encoding)
    if (encoding) expect(Number(answer.headers['content-length'])).toBeLessThan(script.length / 5)
    else expect(answer.text).toBe(script)
    const fetched = await fetch(url)
    expect(await fetched.text()).toBe(script)
  })

  it('only assets, whose names contain a hash, are cached', async () => {
    const console = await open()
    const caching = async (path: string) => (await rawRequest(console, path)).headers['cache-control']
    expect(await caching('/')).toBe('no-cache')
    expect(await caching('/icon.svg')).toBe('no-cache')
    expect(await caching('/assets/index-Cfe2mVl9.js')).toBe('public, max-age=31536000, immutable')
    expect(await caching('/assets/missing-reason.js')).toBe('no-store')
    expect(await caching('/api/store')).toBe('no-store')
  })

  it.each([
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/..\\secret.txt',
    '/assets/..%5c..%5csecret.txt',
    '//secret.txt',
    '/./index.html',
    '/.env',
    '/notes.md',
    '/assets',
    '/assets/',
    '/index.html/',
    '/index.html%00.js',
    '/page-of-another/secret.txt',
    '/../page-of-another/secret.txt',
    'http://127.0.0.1/../secret.txt',
    '*',
    '/missing.js',
    `/${'a'.repeat(300)}.js`,
  ])('GET %s returns no file', async path => {
    const answer = await rawRequest(await open(), path)
    expect([answer.status, answer.text.includes('secret')]).toEqual([404, false])
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'not-found' })
  })

  it('the content security policy permits only the page itself, its server and the broker', async () => {
    const console = await open()
    const { headers } = await rawRequest(console, '/', { headers: { host: 'localhost:8080' } })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain(`connect-src 'self' ${console.store.wsUrl};`)
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    })
  })

  it("with a broker on all addresses, the security policy permits the page's host name", async () => {
    const page = await pageOf(FILES)
    const console = await openConsole({ page, serve: { host: '0.0.0.0', allowAnonymous: true } })
    const { port } = new URL(console.store.wsUrl)
    const policyFor = async (host: string) =>
      String((await rawRequest(console, '/', { headers: { host } })).headers['content-security-policy'])
    expect(await policyFor('192.168.1.7:8080')).toContain(`connect-src 'self' ws://192.168.1.7:${port};`)
    expect(await policyFor('[fe80::1]:8080')).toContain(`connect-src 'self' ws://*:${port};`)
    const headers = { host: '192.168.1.7:8080', authorization: `Bearer ${console.server.token}` }
    expect(JSON.parse((await rawRequest(console, '/api/store', { headers })).text)).toMatchObject({
      wsUrl: `ws://192.168.1.7:${port}`,
    })
  })

  it('files accept only GET and HEAD', async () => {
    const console = await open()
    expect(await rawRequest(console, '/', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect(await rawRequest(console, '/', { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
    }
  })

  it('a request for a page that is not built is answered with instructions', async () => {
    const console = await openConsole({ page: new URL('file:///nowhere/at/all/') })
    const answer = await rawRequest(console, '/')
    expect(answer).toMatchObject({ status: 503, headers: { 'content-type': 'text/plain; charset=utf-8' } })
    expect(answer.text).toContain('npm run build')
    expect((await console.callApi('api/store')).status).toBe(200)
  })
})
