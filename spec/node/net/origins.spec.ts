import { describe, expect, it } from 'vitest'
import { Origins } from '../../../src/node/net/origins.js'

describe('Origins', () => {
  const origins = new Origins('store.example', ['https://panel.example', 'http://other.example:8080'])

  it.each([
    ['a program, which sends no origin', { host: 'anything.example' }],
    ['a page from this machine', { origin: 'http://localhost:3000', host: '127.0.0.1:8083' }],
    ['a page from the requested address', { origin: 'http://192.0.2.7', host: '192.0.2.7:8083' }],
    [
      'a page from the host name that the server listens on',
      { origin: 'http://store.example', host: 'store.example:8083' },
    ],
    ['a page from the list', { origin: 'https://panel.example', host: 'store.example:8083' }],
    ['a page from the list in different case', { origin: 'HTTPS://Panel.Example', host: 'store.example:8083' }],
    ['a page from a requested host on the list', { origin: 'http://other.example', host: 'other.example:8083' }],
  ])('accepts %s', (_, headers) => {
    expect(origins.allow(headers)).toBe(true)
  })

  it.each([
    ['from a foreign page', { origin: 'https://evil.example', host: 'store.example:8083' }],
    ['from a foreign page to this machine', { origin: 'https://evil.example', host: 'localhost:8083' }],
    [
      'from a page whose name was pointed to this machine',
      { origin: 'http://evil.example', host: 'evil.example:8083' },
    ],
    ['from a page on the list with another port', { origin: 'https://panel.example:444', host: 'store.example' }],
    ['from a page with an opaque origin', { origin: 'null', host: 'localhost' }],
    ['with an invalid origin', { origin: 'x', host: 'localhost' }],
    ['without a host', { origin: 'http://localhost' }],
    ['with an invalid host', { origin: 'http://localhost', host: 'local host' }],
  ])('rejects a request %s', (_, headers) => {
    expect(origins.allow(headers)).toBe(false)
  })
})
