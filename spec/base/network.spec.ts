import { describe, expect, it } from 'vitest'
import { callerOf, networkOf } from '../../src/base/network.js'

describe('networkOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['fe80::', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})

describe('callerOf', () => {
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
  ])('of a proxy that says %s is %s', (forwarded, address) => {
    expect(callerOf('127.0.0.1', forwarded, true)).toBe(address)
  })
})
