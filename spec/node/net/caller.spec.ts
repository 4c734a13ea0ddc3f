import { describe, expect, it } from 'vitest'
import { clientAddress } from '../../../src/node/net/connection-limiter.js'

describe('clientAddress', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['10.0.0.1, [2001:db8::1]:4711', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['', '127.0.0.1'],
    ['x'.repeat(46), '127.0.0.1'],
    ['unknown', '127.0.0.1'],
    ['1:1:1:1:1:1:1:1:1::', '127.0.0.1'],
    ['192.0.2.1 panel', '127.0.0.1'],
  ])('returns the address for the proxy header %s: %s', (forwarded, address) => {
    expect(clientAddress('127.0.0.1', forwarded, true)).toBe(address)
  })
})
