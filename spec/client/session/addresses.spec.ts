import net from 'node:net'
import mqtt from 'mqtt'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../harness/random.js'
import { AddressRotation, AddressRouter } from '../../../src/client/session/addresses.js'
import { setStreamBuilder, streamBuilderOf } from '../../../src/client/session/mqttjs-internals.js'
import { SEED } from '../../support/effort.js'

const URLS = ['mqtt://a', 'mqtt://b:1884', 'mqtts://c']
/** A random source that keeps the given order. */
const last = (): number => 0.999
const visits = (addresses: AddressRotation, times: number): string[] =>
  Array.from({ length: times }, () => {
    const { current } = addresses
    addresses.next()
    return current
  })

describe('address rotation', () => {
  it('a client tries addresses in turn, each once per round', () => {
    const turns = visits(new AddressRotation(URLS, new Random(SEED).next), 6)
    expect(turns.slice(0, 3).sort()).toEqual([...URLS].sort())
    expect(turns.slice(3)).toEqual(turns.slice(0, 3))
  })

  it('each client shuffles its addresses, so that the clients of a stopped broker spread out', () => {
    const random = new Random(SEED)
    const followers = new Map<string, number>()
    for (let i = 0; i < 600; i++) {
      const [first = '', second = ''] = visits(new AddressRotation(URLS, random.next), 2)
      if (first === 'mqtt://a') followers.set(second, (followers.get(second) ?? 0) + 1)
    }
    expect(Array.from(followers.keys()).sort()).toEqual(URLS.slice(1).sort())
    for (const count of followers.values()) expect(count).toBeGreaterThan(40)
  })

  it('a random source of 0 keeps the order of addresses', () => {
    expect(visits(new AddressRotation(URLS, () => 0), 3)).toEqual(URLS)
  })

  it('duplicate addresses count once', () => {
    expect(new AddressRotation(['mqtt://a', 'mqtt://a'], last).count).toBe(1)
  })
})

describe('a host name with several addresses', () => {
  it('each address gets a part of `connectTimeout`, which shrinks in later rounds', () => {
    const times: number[] = []
    const options = { connectTimeout: 20_000, cleanStart: false, random: () => 0, followReferences: false }
    const router = new AddressRouter({ ...options, urls: ['mqtt://two.test'] }, url => {
      const client = mqtt.connect(url, { manualConnect: true, protocolVersion: 5 })
      setStreamBuilder(client, () => times.push(net.getDefaultAutoSelectFamilyAttemptTimeout()))
      return client
    })
    for (const round of [0, 1, 2, 3, 4]) {
      router.prepare(round, undefined)
      streamBuilderOf(router.client)?.()
    }
    expect(times).toEqual([10_000, 5_000, 2_500, 1_250, 10_000])
  })
})

describe('following a server reference', () => {
  const order = (): AddressRotation => new AddressRotation(URLS, () => 0)

  it.each([
    ['b:1884', 'mqtt://b:1884'],
    ['b', 'mqtt://b:1884'],
    ['c:8883', 'mqtts://c'],
    ['x y c', 'mqtts://c'],
  ])('a client follows a reference to a listed address: %s', (reference, expected) => {
    const addresses = order()
    expect(addresses.followServerReference(reference, false)).toBe(true)
    expect(addresses.current).toBe('mqtt://a')
    addresses.next()
    expect(addresses.current).toBe(expected)
    expect(addresses.count).toBe(3)
  })

  it.each(['x:1883', 'b:1885', 'c:1883', '', 'a', 'a:1883'])(
    'a client ignores a reference to an unlisted or to the current address: %s',
    reference => {
      const addresses = order()
      expect(addresses.followServerReference(reference, false)).toBe(false)
    },
  )

  it('a permitted reference outside the list keeps the scheme and the credentials', () => {
    const addresses = new AddressRotation(['wss://u:p@a/mqtt?x=1'], last)
    expect(addresses.followServerReference('[::1]:9001', true)).toBe(true)
    addresses.next()
    expect(addresses.current).toBe('wss://u:p@[::1]:9001/mqtt?x=1')
    expect(addresses.count).toBe(2)
  })

  it('a client uses a reference to an unreachable address only once', () => {
    const addresses = new AddressRotation(['mqtt://a'], last)
    addresses.followServerReference('x', true)
    addresses.next()
    expect(visits(addresses, 3)).toEqual(['mqtt://x', 'mqtt://a', 'mqtt://a'])
    expect(addresses.count).toBe(1)
  })

  it('a referenced broker can refer to another broker, and back to the listed addresses', () => {
    const addresses = new AddressRotation(['mqtt://a'], last)
    for (const reference of ['x', 'y', 'a']) {
      expect(addresses.followServerReference(reference, true)).toBe(true)
      addresses.next()
    }
    expect(addresses.current).toBe('mqtt://a')
    expect(addresses.count).toBe(1)
  })

  it('a client follows a reference to another port of the same host', () => {
    const addresses = new AddressRotation(['mqtt://a:1', 'mqtt://a:2'], last)
    const before = addresses.current
    expect(addresses.followServerReference('a', false)).toBe(true)
    addresses.next()
    expect(addresses.current).not.toBe(before)
  })
})
