import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../../harness/random.js'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { encodeNodeMessage, LogKeys, type NodeMessage } from '../../../../src/server/log/cluster/node-message.js'
import type { TestNode } from '../../../server/log/cluster/node.js'
import { set, TestCluster, valueAt } from '../../../server/log/cluster/test-cluster.js'
import { SEED } from '../../../support/effort.js'
import { mangle } from './mutate.js'

/** For manual runs: FUZZ_PACKETS=10000000. */
const MESSAGES = Number(process.env['FUZZ_PACKETS'] ?? 30_000)
/** The number of messages that the nodes receive in one turn. */
const BATCH = 50
/** The number of messages before both nodes are replaced by new ones. */
const MESSAGES_PER_WORLD = 20_000

const nodeKeys = new LogKeys([utf8('the key of the nodes')], 'spec')
const foreignKeys = new LogKeys([utf8('a foreign key')], 'spec')
const KINDS = ['start', 'entry', 'piece', 'claim', 'written', 'signed-only'] as const
const NUMBERS = [0, 1, 2, -1, 0.5, 2 ** 31, 2 ** 53, 1e300, Number.NaN, Number.POSITIVE_INFINITY] as const

/** Sends messages to the log of two nodes, as an attacker can who reads the log but has no key. */
class EnvelopeFuzzer {
  readonly #random: Random
  readonly #keys: LogKeys | undefined
  readonly #world = new TestCluster()
  readonly #a: TestNode
  readonly #b: TestNode
  #round = 0

  constructor(random: Random, keys: LogKeys | undefined) {
    this.#random = random
    this.#keys = keys
    this.#a = this.#world.open('a', { keys }).node
    this.#b = this.#world.open('b', { keys }).node
  }

  /**
   * Sends a batch of messages and returns whether the nodes still run. Without a key, an attacker can end them with two
   * messages, as documented: a start message of a node, and a report of another state or a claim that all nodes sign.
   */
  batch(): boolean {
    const { clock, streams: cluster } = this.#world
    for (let sent = 0; sent < BATCH; sent++) cluster.put(this.#message())
    clock.advance(100)
    const value = String(++this.#round)
    this.#a.log.append(set('k', value))
    clock.advance(100)
    const failures = [...this.#a.failures, ...this.#b.failures]
    const causedByUnknownNodes = failures.filter(error =>
      /(?:^StateStoreError:|entry of) node (?!a |b )|this node has no key/.test(String(error)),
    )
    if (this.#keys === undefined && causedByUnknownNodes.length > 0) return false
    expect(failures).toEqual([])
    expect([valueAt(this.#a, 'k'), valueAt(this.#b, 'k')]).toEqual([value, value])
    expect(this.#a.judge.digest.value).toBe(this.#b.judge.digest.value)
    cluster.trim(cluster.last - 2 * BATCH)
    for (const { reportedErrors: troubles, committed, foreign, changes } of [this.#a, this.#b])
      for (const list of [troubles, committed, foreign, changes]) list.length = 0
    return true
  }

  /** Checks that both nodes have the same state. */
  end(): void {
    expect(this.#a.stateHex).toBe(this.#b.stateHex)
  }

  #message(): Uint8Array {
    const random = this.#random
    const { messages } = this.#world.streams
    const sent = Buffer.from(messages[random.int(0, messages.length - 1)]?.bytes ?? [])
    const kind = random.int(1, 4)
    if (kind === 1) return mangle(random, sent)
    if (kind === 2) return withChecksum(mangle(random, sent))
    // Nodes with a key ignore unsigned messages, whatever the attacker knows.
    const forged = encodeNodeMessage(this.#envelope(), random.pick([undefined, foreignKeys]))
    if (kind === 3) return this.#keys === undefined ? withChecksum(mangle(random, Buffer.from(forged))) : forged
    return random.chance(0.5)
      ? sent
      : withChecksum(mangle(random, Buffer.concat([forged.subarray(0, 25), sent.subarray(25)])))
  }

  #envelope(): NodeMessage {
    const random = this.#random
    const { nodes, digest, position } = this.#a.judge
    const node = this.#keys === undefined ? random.pick(['nobody', 'c', '', '#']) : random.pick(['a', 'b', 'c'])
    const { epoch: life = 'x', nextNumber: next = 1 } = nodes.get(node) ?? {}
    const near = (number: number): number => random.pick([number, number, number + 1, number - 1, ...NUMBERS])
    return {
      kind: random.pick(KINDS),
      node,
      epoch: random.pick([life, life, 'y', '']),
      number: near(next),
      previousEpoch: random.pick([life, '', 'z']),
      appliedPosition: near(position),
      digest: random.pick([digest.value, 0, random.int(0, 2 ** 32 - 1)]),
      clientCount: random.int(0, 5),
      body: new Uint8Array(random.int(0, 60)).map(() => random.int(0, 255)),
    }
  }
}

/** Corrects the checksum, if the bytes are long enough. */
function withChecksum(bytes: Buffer): Buffer {
  if (bytes.length >= 9) bytes.writeUInt32BE(crc32(bytes.subarray(9), crc32(bytes.subarray(4, 5))), 5)
  return bytes
}

describe('nodes of a store', () => {
  it.each([
    ['without a key', undefined],
    ['with a key', nodeKeys],
  ])(
    `nodes %s survive ${MESSAGES} mutated messages with equal states; SEED=${SEED}`,
    {
      timeout: 60_000 + MESSAGES,
    },
    (_, keys) => {
      const random = new Random(SEED)
      for (let sent = 0; sent < MESSAGES; ) {
        const fuzzer = new EnvelopeFuzzer(random, keys)
        let isRunning = true
        for (
          let sentInWorld = 0;
          isRunning && sentInWorld < MESSAGES_PER_WORLD && sent < MESSAGES;
          sentInWorld += BATCH, sent += BATCH
        )
          isRunning = fuzzer.batch()
        if (isRunning) fuzzer.end()
      }
    },
  )
})
