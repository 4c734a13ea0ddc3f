import { describe, expect, it } from 'vitest'
import { formatUrl } from '../../../src/core/util/format-url.js'

describe('an address in a message', () => {
  it.each([
    ['mqtt://localhost:1883', 'mqtt://localhost:1883'],
    ['mqtt://[::1]:1883', 'mqtt://[::1]:1883'],
    ['wss://ann:pw@h:8443/mqtt?token=pw#pw', 'wss://h:8443/mqtt'],
    ['http://ann:pw@localhost', 'http://localhost'],
  ])('names the scheme, host and path of a URL: %s', (url, shown) => {
    expect(formatUrl(url)).toBe(shown)
  })

  it.each([
    ['localhost:1883', 'localhost:1883'],
    ['mqtt://::1:1883', 'mqtt://::1:1883'],
    ['mqtt://ann:pw@a,mqtt://ann:pw@b', 'mqtt://…@b'],
    ['mqtt://a:1883,mqtt://b:1883', 'mqtt://a:1883,mqtt://b:1883'],
    ['mqtt://ann:pw@localhost:188300', 'mqtt://…@localhost:188300'],
    ['mqtt://ann:pw/x@localhost:1883', 'mqtt://…@localhost:1883'],
    ['ws://ann:pw?x@localhost', 'ws://…'],
    ['ws://localhost:99999/?token=a@pw', 'ws://…'],
    ['mqtt://ann:pw', 'mqtt://…'],
    ['mqtt://ann:5pw', 'mqtt://…'],
    ['ann:pw@localhost', '…@localhost'],
    ['localhost?pw', '…'],
    ['mqtt://a@b:99999?pw@c', 'mqtt://…'],
  ])('hides what may be secret in other text: %s', (text, shown) => {
    expect(formatUrl(text)).toBe(shown)
  })

  it('has at most 80 characters if the text is not a URL', () => {
    expect(formatUrl('x'.repeat(1_000))).toHaveLength(80)
  })

  it('shows values of other types', () => {
    expect([undefined, 7, Object.create(null)].map(formatUrl)).toEqual(['undefined', '7', '[object Object]'])
  })
})
