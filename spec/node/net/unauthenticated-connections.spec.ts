import { describe, expect, it } from 'vitest'
import { AddressSlots } from '../../../src/node/net/unauthenticated-connections.js'

describe('AddressSlots', () => {
  it('evicts the oldest item of the address with the most items', () => {
    const places = new AddressSlots<string>()
    for (const item of ['a1', 'a2', 'a3']) places.add('192.0.2.1', item)
    places.add('192.0.2.2', 'b1')
    expect([places.size, places.countOf('192.0.2.1'), places.evictionCandidate()]).toEqual([4, 3, 'a1'])
    places.delete('192.0.2.1', 'a1')
    places.delete('192.0.2.1', 'a1')
    expect([places.size, places.evictionCandidate()]).toEqual([3, 'a2'])
  })

  it('evicts nothing for an address that already has as many items', () => {
    const places = new AddressSlots<string>()
    for (const item of ['a1', 'a2']) places.add('192.0.2.1', item)
    expect([places.evictionCandidate(2), places.evictionCandidate(1)]).toEqual([undefined, 'a1'])
  })

  it('counts an IPv6 network as one address', () => {
    const places = new AddressSlots<string>()
    places.add('2001:db8::1', 'a')
    places.add('2001:db8::2', 'b')
    expect(places.countOf('2001:db8::3')).toBe(2)
    for (const [address, item] of [
      ['2001:db8::1', 'a'],
      ['2001:db8::2', 'b'],
    ] as const)
      places.delete(address, item)
    expect([places.size, places.evictionCandidate()]).toEqual([0, undefined])
  })
})
