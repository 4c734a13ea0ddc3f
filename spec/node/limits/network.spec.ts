import { describe, expect, it } from 'vitest'
import { networkOf } from '../../../src/node/limits/network.js'

describe('networkOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['fe80::', 'fe80:0:0:0::/64'],
    ['1:1:1:1:1:1:1:1:1::', '1:1:1:1::/64'],
    ['', ''],
  ])('maps %s to %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
