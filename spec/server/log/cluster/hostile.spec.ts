import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { encodeNodeMessage, LogKeys, type NodeMessage } from '../../../../src/server/log/cluster/node-message.js'
import type { TestNode } from './node.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

const keys = new LogKeys([utf8('a key that nodes share')], 'spec')

/** Creates a message that no node sent but that is otherwise as valid as possible. */
const forged = (change: Partial<NodeMessage> = {}): NodeMessage => ({
  kind: 'start',
  node: 'nobody',
  epoch: 'x',
  number: 1,
  previousEpoch: '',
  appliedPosition: 0,
  digest: 1,
  clientCount: 0,
  body: new Uint8Array(0),
  ...change,
})

/** Returns the bytes with a correct checksum. */
function summed(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes)
  new DataView(copy.buffer).setUint32(5, crc32(copy.subarray(9), crc32(copy.subarray(4, 5))))
  return copy
}

const ofFormat = (format: number, bytes = encodeNodeMessage(forged())): Uint8Array => {
  const copy = new Uint8Array(bytes)
  copy[4] = format
  return summed(copy)
}

/** Single messages that once stopped nodes permanently. */
const MESSAGES: Readonly<Record<string, Uint8Array>> = {
  'nine bytes of another format': ofFormat(2, new Uint8Array([0x72, 0x78, 0x73, 0x73, 0, 0, 0, 0, 0])),
  'nine bytes': ofFormat(1, new Uint8Array([0x72, 0x78, 0x73, 0x73, 0, 0, 0, 0, 0])),
  'a later format': ofFormat(99),
  'a message that is cut': summed(encodeNodeMessage(forged()).subarray(0, 30)),
  'a message with more behind it': summed(new Uint8Array([...encodeNodeMessage(forged()), 0])),
  'a kind that there is not': summed(encodeNodeMessage(forged()).map((byte, at) => (at === 9 ? 77 : byte))),
  'a name that is no text': summed(encodeNodeMessage(forged()).map((byte, at) => (at === 14 ? 0xff : byte))),
  'a name of 100,000 letters': encodeNodeMessage(forged({ node: 'n'.repeat(100_000) })),
  'a wrong digest of a node that is none': encodeNodeMessage(forged({ kind: 'entry', number: 7 })),
  'a wrong digest of a node that begins': encodeNodeMessage(forged()),
  'a message of another stream': encodeNodeMessage(forged({ appliedPosition: Number.MAX_SAFE_INTEGER })),
}

function expectWell(cluster: TestCluster, ...nodes: readonly TestNode[]): void {
  nodes[0]?.log.append(set('k', 'after'))
  cluster.clock.advance(10_000)
  for (const node of nodes) {
    expect(node.failures).toEqual([])
    expect(valueAt(node, 'k')).toBe('after')
    expect(node.stateHex).toBe(nodes[0]?.stateHex)
  }
}

describe.each([
  ['without a key', undefined],
  ['with a key', keys],
])('nodes %s', (_, own) => {
  it.each(Object.entries(MESSAGES))('nodes keep running and can restart after %s', (_name, bytes) => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys: own })
    const { node: b } = cluster.open('b', { keys: own })
    cluster.streams.put(bytes)
    expectWell(cluster, a, b)
    a.kill()
    b.kill()
    const { node: reopened } = cluster.open('a', { keys: own })
    const { node: other } = cluster.open('b', { keys: own })
    expectWell(cluster, reopened, other)
  })

  it('nodes keep running if another publisher uses up predictable message ids', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys: own })
    const { node: b } = cluster.open('b', { keys: own })
    for (let number = 1; number < 40; number++) cluster.streams.put(utf8('junk'), `a:life-1:${number}:0`)
    cluster.clock.advance(100)
    expectWell(cluster, a, b)
  })

  it('nodes keep running if another publisher uses up the ids of messages in flight', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a', { keys: own })
    const { node: b } = cluster.open('b', { keys: own })
    stream.faults.stolenIds = 3
    expectWell(cluster, a, b)
    expect(a.availabilities).not.toContain('away')
  })

  it('a flood of foreign messages is reported at most once in ten seconds', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys: own })
    for (let at = 0; at < 5_000; at++) cluster.streams.put(utf8(`noise ${at}`))
    cluster.clock.advance(15_000)
    expect(a.reportedErrors).toMatchObject([
      { code: 'damaged', message: expect.stringMatching(/ignore the message at position 2 of the stream/) },
      { code: 'damaged', message: expect.stringMatching(/\(and 4998 more before it\)$/) },
    ])
    expectWell(cluster, a)
  })

  it('the message at a position that an operator excluded is ignored', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { keys: own })
    const position = cluster.streams.last + 1
    const applied = a.judge.position
    cluster.streams.put(encodeNodeMessage(forged({ appliedPosition: applied }), own))
    cluster.streams.put(encodeNodeMessage(forged({ kind: 'entry', number: 2, appliedPosition: applied }), own))
    cluster.clock.advance(100)
    expect(a.failures).toMatchObject([
      { code: 'diverged', message: expect.stringContaining(`exclude its message with --log-skip ${position + 1}`) },
    ])
    const { node: reopened } = cluster.node('a', { keys: own })
    cluster.clock.advance(5_000)
    expect(reopened.error).toMatchObject({ code: 'diverged' })
    const { node: b } = cluster.open('a', { keys: own, skip: new Set([position + 1]) })
    expectWell(cluster, b)
    expect(b.reportedErrors).toMatchObject([{ message: expect.stringContaining('--log-skip excludes it') }])
  })
})

it('nodes without a key ignore an undecodable entry and keep running', () => {
  const cluster = new TestCluster()
  const { node: a } = cluster.open('a')
  const { node: b } = cluster.open('b')
  const digest = a.judge.digest.at(0) ?? 0
  cluster.streams.put(encodeNodeMessage(forged({ digest })))
  cluster.streams.put(encodeNodeMessage(forged({ kind: 'entry', number: 2, digest, body: utf8('no entry at all') })))
  expectWell(cluster, a, b)
  expect(a.reportedErrors).toMatchObject([{ code: 'damaged', message: expect.stringContaining('cannot be decoded') }])
})

it('a node with a key stops only at a signed message of another version', () => {
  const cluster = new TestCluster()
  const { node: a } = cluster.open('a', { keys })
  const { node: b } = cluster.open('b', { keys })
  const later = (bytes: Uint8Array): Uint8Array => {
    const copy = ofFormat(99, bytes)
    copy.set(keys.sign(copy.subarray(4, 5), copy.subarray(25)), 9)
    return summed(copy)
  }
  cluster.streams.put(ofFormat(99, encodeNodeMessage(forged(), keys)))
  expectWell(cluster, a, b)
  cluster.streams.put(later(encodeNodeMessage(forged(), keys)))
  cluster.clock.advance(10)
  expect([a.failures, b.failures].flat()).toMatchObject([{ code: 'format' }, { code: 'format' }])
})
