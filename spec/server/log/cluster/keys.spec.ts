import { describe, expect, it } from 'vitest'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { encodeNodeMessage, LogKeys } from '../../../../src/server/log/cluster/node-message.js'
import { set, valueAt, World } from './world.js'

const keyed = (...texts: readonly [string, ...string[]]): LogKeys => {
  const [first, ...others] = texts
  return new LogKeys([utf8(first), ...others.map(utf8)], 'spec')
}
const keys = keyed('one')

/** Creates the next message of a node, as forged by a client that reads the log and may publish to it. */
function pretended(world: World, node: string, signedWith?: LogKeys): Uint8Array {
  const { node: reader } = world.open('reader', { keys })
  const { epoch: life = '', nextNumber: next = 0 } = reader.judge.nodes.get(node) ?? {}
  const applied = reader.judge.position
  const digest = reader.judge.digest.value
  reader.kill()
  return encodeNodeMessage(
    {
      kind: 'claim',
      node,
      epoch: life,
      number: next,
      previousEpoch: '',
      appliedPosition: applied,
      digest,
      clientCount: 0,
      body: new Uint8Array(0),
    },
    signedWith,
  )
}

describe('a log with a key', () => {
  it('unsigned messages do not count from the first message on, and all nodes agree', () => {
    const world = new World()
    const { node: a } = world.open('a', { keys })
    const { node: b } = world.open('b', { keys })
    expect([a.judge.signingPolicy.signedSince, b.judge.signingPolicy.signedSince]).toEqual([1, 1])
    for (const other of [undefined, keyed('two')]) {
      const before = b.judge.nodes.get('a')
      world.cluster.put(pretended(world, 'a', other))
      world.clock.advance(5)
      expect(b.judge.nodes.get('a')?.nextNumber).toBe(before?.nextNumber)
    }
    a.log.append(set('x', '1'))
    world.clock.advance(100)
    expect([valueAt(a, 'x'), valueAt(b, 'x'), a.picture]).toEqual(['1', '1', b.picture])
  })

  it('a node without the key, or with another one, stops with the reason and has acknowledged nothing', () => {
    const world = new World()
    const { node: a } = world.open('a', { keys })
    a.log.append(set('x', '1'))
    const { node: without } = world.node('b')
    const { node: other } = world.node('c', { keys: keyed('two') })
    world.clock.advance(5_000)
    expect(without.error).toMatchObject({ code: 'log-key', message: expect.stringContaining('has no key') })
    expect(other.error).toMatchObject({ code: 'log-key', message: expect.stringContaining('does not have') })
    expect([without.opened, other.opened, a.failures]).toEqual([undefined, undefined, []])
  })

  it('a missing key is also detected from the snapshot of a trimmed stream', () => {
    const world = new World()
    const { node: a } = world.open('a', { keys, snapshots: { messages: 5 } })
    for (let at = 0; at < 40; at++) {
      a.log.append(set('x', String(at)))
      world.clock.advance(500)
    }
    expect(world.cluster.first).toBeGreaterThan(1)
    const { node: without } = world.node('b')
    const { node: other } = world.node('c', { keys: keyed('two') })
    world.clock.advance(5_000)
    expect([without.error, other.error]).toMatchObject([{ code: 'log-key' }, { code: 'log-key' }])
    const { node: d } = world.open('d', { keys })
    expect([d.judge.signingPolicy.signedSince, valueAt(d, 'x')]).toEqual([1, '39'])
  })

  it("a message of another store's log does not count", () => {
    const world = new World()
    const { node: a } = world.open('a', { keys })
    const next = a.judge.nodes.get('a')?.nextNumber
    world.cluster.put(pretended(world, 'a', new LogKeys([utf8('one')], 'another')))
    world.clock.advance(5)
    expect(a.judge.nodes.get('a')?.nextNumber).toBe(next)
  })

  it('messages of a removed node do not count again', () => {
    const world = new World()
    const { node: gone } = world.open('gone', { keys })
    gone.log.append(set('x', 'old'))
    world.clock.advance(100)
    gone.kill()
    const sent = world.cluster.messages.map(({ bytes }) => bytes)
    world.clock.advance(8 * 24 * 3_600_000)
    const { node: a } = world.open('a', { keys })
    expect([...a.judge.nodes.entries()].map(([id]) => id)).toEqual(['a'])
    a.log.append(set('x', 'new'))
    for (const bytes of sent) world.cluster.put(bytes)
    world.clock.advance(1_000)
    expect([...a.judge.nodes.entries()].map(([id]) => id)).toEqual(['a'])
    expect(valueAt(a, 'x')).toBe('new')
    const { node: again } = world.open('gone', { keys })
    expect(again.picture).toBe(a.picture)
  })
})

describe('nodes that start to use a key', () => {
  it('nodes count while they get the key one by one, and unsigned messages stop counting after the last one', () => {
    const world = new World()
    const names = ['a', 'b', 'c']
    const nodes = names.map(name => world.open(name).node)
    for (const [at, name] of names.entries()) {
      nodes[at]?.kill()
      nodes[at] = world.open(name, { keys }).node
      world.clock.advance(5_000)
      for (const [from, node] of nodes.entries()) node.log.append(set(`${name}-${from}`, '1'))
      world.clock.advance(100)
      expect(nodes.map(({ failures }) => failures)).toEqual([[], [], []])
      expect(nodes.map(({ picture }) => picture)).toEqual(nodes.map(() => nodes[0]?.picture))
      expect(nodes.map(({ judge }) => judge.signingPolicy.signedSince)).toEqual([undefined, undefined, undefined])
    }
    expect(nodes[0]?.troubles).toMatchObject([
      { code: 'log-key', message: expect.stringContaining('node b does not yet sign') },
      { code: 'log-key', message: expect.stringContaining('node c does not yet sign') },
    ])
    world.clock.advance(20_000)
    const [since] = nodes.map(({ judge }) => judge.signingPolicy.signedSince)
    expect(since).toBeGreaterThan(1)
    expect(nodes.map(({ judge }) => judge.signingPolicy.signedSince)).toEqual([since, since, since])
    const next = nodes[0]?.judge.nodes.get('b')?.nextNumber
    world.cluster.put(pretended(world, 'b'))
    world.clock.advance(5)
    expect(nodes[0]?.judge.nodes.get('b')?.nextNumber).toBe(next)
    const { node: forgotten } = world.node('d')
    world.clock.advance(5_000)
    expect(forgotten.error).toMatchObject({ code: 'log-key' })
  })

  it('a publisher that keeps sending unsigned messages delays the migration by at most an hour', () => {
    const world = new World()
    const { node: without } = world.open('without')
    const { node: a } = world.open('a', { keys })
    world.clock.advance(30 * 60_000)
    expect([a.judge.signingPolicy.signedSince, without.failures]).toEqual([undefined, []])
    world.clock.advance(31 * 60_000)
    expect(a.judge.signingPolicy.signedSince).toBeGreaterThan(1)
    expect(without.failures).toMatchObject([{ code: 'log-key' }])
    expect(a.failures).toEqual([])
  })
})

describe('replacing a key', () => {
  it('a key is replaced once all nodes know the new one, all sign with it, and the old one is removed', () => {
    const world = new World()
    const [old, both, turned, fresh] = [keyed('old'), keyed('old', 'new'), keyed('new', 'old'), keyed('new')]
    const names = ['a', 'b']
    const nodes = names.map(name => world.open(name, { keys: old }).node)
    for (const next of [both, turned, fresh]) {
      for (const [at, name] of names.entries()) {
        nodes[at]?.kill()
        nodes[at] = world.open(name, { keys: next, snapshots: { messages: 5 } }).node
        nodes[at]?.log.append(set('x', `${name} ${next.fingerprint}`))
        world.clock.advance(1_000)
        expect(nodes.map(({ failures }) => failures)).toEqual([[], []])
        expect(nodes.map(node => valueAt(node, 'x'))).toEqual([
          `${name} ${next.fingerprint}`,
          `${name} ${next.fingerprint}`,
        ])
      }
      world.clock.advance(60_000)
    }
    const { node: late } = world.node('c', { keys: old })
    world.clock.advance(5_000)
    expect(late.error).toMatchObject({ code: 'log-key' })
  })
})
