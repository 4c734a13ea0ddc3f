import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Watchers } from '../../../src/server/engine/watchers.js'

describe('Watchers', () => {
  it('of a key are returned in order of registration', () => {
    const watchers = new Watchers<string>()
    watchers.add('bob', 'k')
    watchers.add('alice', 'k')
    watchers.add('carol', 'other')
    expect([...watchers.watchersOf('k')]).toEqual(['bob', 'alice'])
    expect([...watchers.watchersOf('other')]).toEqual(['carol'])
    expect([...watchers.watchersOf('nobody cares')]).toEqual([])
  })

  it('a repeated registration counts once', () => {
    const watchers = new Watchers<string>()
    watchers.add('bob', 'k')
    watchers.add('bob', 'k')
    expect([watchers.count, watchers.countOf('bob')]).toEqual([1, 1])
    expect(watchers.remove('bob', 'k')).toBe(true)
    expect(watchers.remove('bob', 'k')).toBe(false)
    expect([watchers.count, watchers.countOf('bob'), watchers.has('bob', 'k')]).toEqual([0, 0, false])
  })

  it('removing a connection removes all its registrations and no others', () => {
    const watchers = new Watchers<string>()
    for (const key of ['a', 'b', 'c']) watchers.add('bob', key)
    watchers.add('alice', 'b')
    watchers.removeConnection('bob')
    watchers.removeConnection('bob')
    watchers.removeConnection('a stranger')
    expect([watchers.count, watchers.countOf('bob'), watchers.countOf('alice')]).toEqual([1, 0, 1])
    expect([...watchers.watchersOf('a'), ...watchers.watchersOf('b'), ...watchers.watchersOf('c')]).toEqual(['alice'])
  })

  it("a connection's many registrations are removed in parts, uncounted after the first", () => {
    const watchers = new Watchers<string>({ max: 100, maxPerOwner: 10, ownerOf: () => 'owner' })
    for (let i = 0; i < 10; i++) watchers.add('bob', `k${i}`)
    watchers.add('alice', 'k0')
    const bytes = watchers.bytes
    expect(watchers.removeConnection('bob', 4)).toBe(true)
    expect([watchers.count, watchers.countOf('bob'), watchers.countOfOwner('owner')]).toEqual([1, 0, 1])
    expect([...watchers.watchersOf('k0'), ...watchers.watchersOf('k1')]).toEqual(['alice'])
    expect(watchers.bytes).toBeLessThan(bytes)
    expect(watchers.removeConnection('bob', 4)).toBe(true)
    expect(watchers.removeConnection('bob', 4)).toBe(false)
    expect([...watchers.watchersOf('k0')]).toEqual(['alice'])
    watchers.removeConnection('alice')
    expect([watchers.count, watchers.bytes]).toEqual([0, 0])
  })

  it('a registration of a connection whose earlier registrations are not removed yet counts', () => {
    const watchers = new Watchers<string>()
    for (let i = 0; i < 10; i++) watchers.add('bob', `k${i}`)
    watchers.removeConnection('bob', 1)
    watchers.add('bob', 'k0')
    expect([watchers.count, ...watchers.watchersOf('k0'), ...watchers.watchersOf('k1')]).toEqual([1, 'bob'])
    expect(watchers.removeConnection('bob', 100)).toBe(false)
  })

  it('connections are distinguished by object identity', () => {
    const [first, second] = [{ clientId: 'bob' }, { clientId: 'bob' }]
    const watchers = new Watchers<object>()
    watchers.add(first, 'k')
    expect(watchers.has(second, 'k')).toBe(false)
    watchers.add(second, 'k')
    watchers.removeConnection(first)
    expect([...watchers.watchersOf('k')]).toEqual([second])
  })

  it('registrations equal a set of pairs after a random history', () => {
    const client = fc.constantFrom('alice', 'bob', 'carol')
    const key = fc.constantFrom('x', 'y', 'z')
    const act = fc.tuple(fc.constantFrom('add', 'remove', 'drop'), client, key)
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), history => {
        const watchers = new Watchers<string>()
        const pairs = new Set<string>()
        for (const [operation, client, key] of history) {
          const pair = `${client} ${key}`
          if (operation === 'add') watchers.add(client, key)
          if (operation === 'remove') expect(watchers.remove(client, key)).toBe(pairs.has(pair))
          if (operation === 'drop') watchers.removeConnection(client)
          if (operation === 'add') pairs.add(pair)
          if (operation === 'remove') pairs.delete(pair)
          if (operation === 'drop') for (const known of pairs) if (known.startsWith(`${client} `)) pairs.delete(known)
          expect(watchers.count).toBe(pairs.size)
        }
        for (const key of ['x', 'y', 'z']) {
          const expected = ['alice', 'bob', 'carol'].filter(client => pairs.has(`${client} ${key}`))
          expect([...watchers.watchersOf(key)].sort()).toEqual(expected)
        }
      }),
    )
  })
})
