import { describe, expect, it } from 'vitest'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { encodeNodeMessage, LogKeys } from '../../../../src/server/log/cluster/node-message.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

const keyed = (...texts: readonly [string, ...string[]]): LogKeys => {
  const [first, ...others] = texts
  return new LogKeys([utf8(first), ...others.map(utf8)], 'spec')
}
const keys = keyed('one')

/** Creates the next message of a node, as a client with read and publish access to the log could forge it. */
function pretended(cluster: TestCluster, node: string, signedWith?: LogKeys): Uint8Array {
  const { node: reader } = cluster.open('reader', { keys })
  const { epoch = '', nextNumber: number = 0 } = reader.judge.nodes.get(node) ?? {}
  const applied = reader.judge.position
  const digest = reader.judge.digest.value
  reader.kill()
  return encodeNodeMessage(
    {
      kind: 'claim',
      node,
      epoch: epoch,
      number: number,
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
  it('all nodes ignore unsigned messages, including the first message', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys })
    const { node: b } = cluster.open('b', { keys })
    expect([a.judge.signingPolicy.signedSince, b.judge.signingPolicy.signedSince]).toEqual([1, 1])
    for (const other of [undefined, keyed('two')]) {
      const before = b.judge.nodes.get('a')
      cluster.streams.put(pretended(cluster, 'a', other))
      cluster.clock.advance(5)
      expect(b.judge.nodes.get('a')?.nextNumber).toBe(before?.nextNumber)
    }
    a.log.append(set('x', '1'))
    cluster.clock.advance(100)
    expect([valueAt(a, 'x'), valueAt(b, 'x'), a.stateHex]).toEqual(['1', '1', b.stateHex])
  })

  it('a node with a missing or wrong key stops with the reason and acknowledges nothing', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys })
    a.log.append(set('x', '1'))
    const { node: without } = cluster.node('b')
    const { node: other } = cluster.node('c', { keys: keyed('two') })
    cluster.clock.advance(5_000)
    expect(without.error).toMatchObject({ code: 'log-key', message: expect.stringContaining('has no key') })
    expect(other.error).toMatchObject({ code: 'log-key', message: expect.stringContaining('does not have') })
    expect([without.opened, other.opened, a.failures]).toEqual([undefined, undefined, []])
  })

  it('a missing key is also detected from the snapshot of a trimmed stream', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys, snapshots: { messages: 5 } })
    for (let at = 0; at < 40; at++) {
      a.log.append(set('x', String(at)))
      cluster.clock.advance(500)
    }
    expect(cluster.streams.first).toBeGreaterThan(1)
    const { node: without } = cluster.node('b')
    const { node: other } = cluster.node('c', { keys: keyed('two') })
    cluster.clock.advance(5_000)
    expect([without.error, other.error]).toMatchObject([{ code: 'log-key' }, { code: 'log-key' }])
    const { node: d } = cluster.open('d', { keys })
    expect([d.judge.signingPolicy.signedSince, valueAt(d, 'x')]).toEqual([1, '39'])
  })

  it("a message from another store's log is ignored", () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys })
    const number = a.judge.nodes.get('a')?.nextNumber
    cluster.streams.put(pretended(cluster, 'a', new LogKeys([utf8('one')], 'another')))
    cluster.clock.advance(5)
    expect(a.judge.nodes.get('a')?.nextNumber).toBe(number)
  })

  it('messages of a removed node remain ignored', () => {
    const cluster = new TestCluster()
    const { node: gone } = cluster.open('gone', { keys })
    gone.log.append(set('x', 'old'))
    cluster.clock.advance(100)
    gone.kill()
    const sent = cluster.streams.messages.map(({ bytes }) => bytes)
    cluster.clock.advance(8 * 24 * 3_600_000)
    const { node: a } = cluster.open('a', { keys })
    expect([...a.judge.nodes.entries()].map(([id]) => id)).toEqual(['a'])
    a.log.append(set('x', 'new'))
    for (const bytes of sent) cluster.streams.put(bytes)
    cluster.clock.advance(1_000)
    expect([...a.judge.nodes.entries()].map(([id]) => id)).toEqual(['a'])
    expect(valueAt(a, 'x')).toBe('new')
    const { node: reopened } = cluster.open('gone', { keys })
    expect(reopened.stateHex).toBe(a.stateHex)
  })
})

describe('nodes that start to use a key', () => {
  it('unsigned messages count while nodes receive the key, and no longer after the last one', () => {
    const cluster = new TestCluster()
    const names = ['a', 'b', 'c']
    const nodes = names.map(name => cluster.open(name).node)
    for (const [at, name] of names.entries()) {
      nodes[at]?.kill()
      nodes[at] = cluster.open(name, { keys }).node
      cluster.clock.advance(5_000)
      for (const [from, node] of nodes.entries()) node.log.append(set(`${name}-${from}`, '1'))
      cluster.clock.advance(100)
      expect(nodes.map(({ failures }) => failures)).toEqual([[], [], []])
      expect(nodes.map(({ stateHex }) => stateHex)).toEqual(nodes.map(() => nodes[0]?.stateHex))
      expect(nodes.map(({ judge }) => judge.signingPolicy.signedSince)).toEqual([undefined, undefined, undefined])
    }
    expect(nodes[0]?.reportedErrors).toMatchObject([
      { code: 'log-key', message: expect.stringContaining('node b does not yet sign') },
      { code: 'log-key', message: expect.stringContaining('node c does not yet sign') },
    ])
    cluster.clock.advance(20_000)
    const [since] = nodes.map(({ judge }) => judge.signingPolicy.signedSince)
    expect(since).toBeGreaterThan(1)
    expect(nodes.map(({ judge }) => judge.signingPolicy.signedSince)).toEqual([since, since, since])
    const number = nodes[0]?.judge.nodes.get('b')?.nextNumber
    cluster.streams.put(pretended(cluster, 'b'))
    cluster.clock.advance(5)
    expect(nodes[0]?.judge.nodes.get('b')?.nextNumber).toBe(number)
    const { node: forgotten } = cluster.node('d')
    cluster.clock.advance(5_000)
    expect(forgotten.error).toMatchObject({ code: 'log-key' })
  })

  it('a publisher that keeps sending unsigned messages delays the migration by at most an hour', () => {
    const cluster = new TestCluster()
    const { node: without } = cluster.open('without')
    const { node: a } = cluster.open('a', { keys })
    cluster.clock.advance(30 * 60_000)
    expect([a.judge.signingPolicy.signedSince, without.failures]).toEqual([undefined, []])
    cluster.clock.advance(31 * 60_000)
    expect(a.judge.signingPolicy.signedSince).toBeGreaterThan(1)
    expect(without.failures).toMatchObject([{ code: 'log-key' }])
    expect(a.failures).toEqual([])
  })
})

describe('replacing a key', () => {
  it('a key is replaced in three steps: accepted by all, used by all, old one removed', () => {
    const cluster = new TestCluster()
    const [old, both, turned, fresh] = [keyed('old'), keyed('old', 'new'), keyed('new', 'old'), keyed('new')]
    const names = ['a', 'b']
    const nodes = names.map(name => cluster.open(name, { keys: old }).node)
    for (const number of [both, turned, fresh]) {
      for (const [at, name] of names.entries()) {
        nodes[at]?.kill()
        nodes[at] = cluster.open(name, { keys: number, snapshots: { messages: 5 } }).node
        nodes[at]?.log.append(set('x', `${name} ${number.fingerprint}`))
        cluster.clock.advance(1_000)
        expect(nodes.map(({ failures }) => failures)).toEqual([[], []])
        expect(nodes.map(node => valueAt(node, 'x'))).toEqual([
          `${name} ${number.fingerprint}`,
          `${name} ${number.fingerprint}`,
        ])
      }
      cluster.clock.advance(60_000)
    }
    const { node: late } = cluster.node('c', { keys: old })
    cluster.clock.advance(5_000)
    expect(late.error).toMatchObject({ code: 'log-key' })
  })
})
