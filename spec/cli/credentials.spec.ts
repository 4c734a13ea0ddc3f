import { describe, expect, it } from 'vitest'
import { withoutCredentials } from '../../src/cli/credentials.js'

describe('addresses in printed text', () => {
  it.each([
    ['cannot reach mqtt://h:1883: no response', 'cannot reach mqtt://h:1883: no response'],
    ['see https://example.com/errors.md#timeout', 'see https://example.com/errors.md#timeout'],
    ['mqtt://u:pw@h:1883', 'mqtt://***@h:1883'],
    ['mqtt://u:p/w@h:1883.', 'mqtt://***@h:1883.'],
    ['nats://u:pw@a:4222,nats://u:pw@b:4222', 'nats://***@a:4222,nats://***@b:4222'],
    ['`wss://h/mqtt?token=pw&x=pw` ends', '`wss://h/mqtt?token=***&x=***` ends'],
    ['http://127.0.0.1:8080/#token=pw', 'http://127.0.0.1:8080/#token=***'],
  ])('show no secrets: %s', (text, shown) => {
    expect(withoutCredentials(text)).toBe(shown)
  })
})
