import { describe, expect, it } from 'vitest'
import { Origins } from '../../../src/node/net/origins.js'

describe('Origins', () => {
  const origins = new Origins('store.example', ['https://panel.example', 'http://other.example:8080'])

  it.each([
    ['a program, which sends none', { host: 'anything.example' }],
    ['a page of this machine', { origin: 'http://localhost:3000', host: '127.0.0.1:8083' }],
    ['a page of the address that is asked for', { origin: 'http://192.0.2.7', host: '192.0.2.7:8083' }],
    ['a page of the host that is listened on', { origin: 'http://store.example', host: 'store.example:8083' }],
    ['a page on the list', { origin: 'https://panel.example', host: 'store.example:8083' }],
    ['a page on the list in other letters', { origin: 'HTTPS://Panel.Example', host: 'store.example:8083' }],
    ['a page of a host on the list that is asked for', { origin: 'http://other.example', host: 'other.example:8083' }],
  ])('accepts %s', (_, headers) => {
    expect(origins.allow(headers)).toBe(true)
  })

  it.each([
    ['of a foreign page', { origin: 'https://evil.example', host: 'store.example:8083' }],
    ['of a foreign page to this machine', { origin: 'https://evil.example', host: 'localhost:8083' }],
    ['of a page whose name was made to point here', { origin: 'http://evil.example', host: 'evil.example:8083' }],
    ['of a page on the list with another port', { origin: 'https://panel.example:444', host: 'store.example' }],
    ['of a page without an origin of its own', { origin: 'null', host: 'localhost' }],
    ['of something that is no origin', { origin: 'x', host: 'localhost' }],
    ['to no host at all', { origin: 'http://localhost' }],
    ['to something that is no host', { origin: 'http://localhost', host: 'local host' }],
  ])('rejects a request %s', (_, headers) => {
    expect(origins.allow(headers)).toBe(false)
  })
})
