import { describe, expect, it } from 'vitest'
import { Random } from '../../../../harness/random.js'
import type { LogEntry } from '../../../../src/server/engine/entry.js'
import { effort, SEED } from '../../../support/effort.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

const SMALL_BYTES = 2_500
const LARGE_BYTES = 100_000

describe('a stream whose maximum message size changes', () => {
  it('an entry that is appended after the limit was lowered is sent in smaller pieces', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.maxMessageBytes = SMALL_BYTES
    a.log.append(set('large', 'y'.repeat(20_000)))
    a.log.append(set('x', '1'))
    cluster.clock.advance(500)
    expect([valueAt(b, 'large')?.length, valueAt(b, 'x')]).toEqual([20_000, '1'])
  })

  it('entries in flight that were lost are sent again in smaller pieces, in order and once', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.maxMessageBytes = LARGE_BYTES
    stream.faults.shouldLose = () => true
    a.log.append(set('x', 'before'))
    a.log.append(set('large', 'y'.repeat(50_000)))
    a.log.append(set('x', 'after'))
    cluster.clock.advance(10)
    stream.faults.shouldLose = () => false
    stream.maxMessageBytes = SMALL_BYTES
    a.log.append(set('last', '1'))
    cluster.clock.advance(4_000)
    expect(a.rejected).toEqual([])
    expect(a.committed).toHaveLength(4)
    expect([valueAt(b, 'large')?.length, valueAt(b, 'x'), valueAt(b, 'last')]).toEqual([50_000, 'after', '1'])
    expect(a.stateHex).toBe(b.stateHex)
    expect(a.availabilities).toEqual([])
  })

  it('an entry in flight that reached the stream before its resend is applied once', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.maxMessageBytes = LARGE_BYTES
    stream.faults.isMute = true
    stream.faults.isStalled = true
    a.log.append(set('large', 'y'.repeat(50_000)))
    cluster.clock.advance(10)
    stream.faults.isMute = false
    stream.maxMessageBytes = SMALL_BYTES
    cluster.clock.advance(2_000)
    stream.faults.isStalled = false
    cluster.clock.advance(4_000)
    expect([a.committed.length, a.rejected]).toEqual([1, []])
    expect(a.stateHex).toBe(b.stateHex)
  })

  it('each appended entry has one outcome, in order, at any change of the limit and any loss', () => {
    for (let run = 0; run < effort(60, 20); run++) {
      const random = new Random(SEED + run)
      const cluster = new TestCluster()
      const { node: a, stream } = cluster.open('a')
      const { node: b } = cluster.open('b')
      stream.faults.shouldLose = () => random.chance(0.15)
      const appended: LogEntry[] = []
      for (let step = 0; step < 60; step++) {
        const entry = set(`k${random.int(0, 4)}`, `${step}`.repeat(random.pick([1, 2_000, 20_000])))
        appended.push(entry)
        a.log.append(entry)
        if (random.chance(0.2)) stream.maxMessageBytes = random.pick([SMALL_BYTES, 4_000, LARGE_BYTES])
        stream.faults.isDeaf = random.chance(0.05)
        cluster.clock.advance(random.pick([0, 1, 50, 3_000]))
      }
      stream.faults.isDeaf = false
      stream.faults.shouldLose = () => false
      cluster.clock.advance(30_000)
      const outcomes = [...a.committed, ...a.rejected.map(({ entry }) => entry)]
      expect(outcomes.map(({ commands }) => commands)).toHaveLength(appended.length)
      const commands = appended.map(each => each.commands)
      expect(new Set(outcomes.map(each => each.commands))).toEqual(new Set(commands))
      const order = a.committed.map(each => commands.indexOf(each.commands))
      expect(order).toEqual([...order].sort((one, other) => one - other))
      expect(a.stateHex, `seed ${SEED + run}`).toBe(b.stateHex)
      expect([a.failures, b.failures]).toEqual([[], []])
    }
  })
})
