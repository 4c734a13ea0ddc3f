import { describe, expect, it } from 'vitest'
import type { InboundMessage } from '../../../src/client/session/session.js'
import { InboundQueue } from '../../../src/server/attach/inbound-queue.js'

const messageOf = (packetId: number, bytes = 1): InboundMessage => ({
  topic: String(packetId),
  payload: new Uint8Array(bytes),
  userProperties: {},
  subscriptionIds: [],
  qos: packetId === 0 ? 0 : 1,
  packetId,
})

function open() {
  const acknowledged: number[] = []
  const dealt = new Map<string, () => void>()
  const gate = { isOpen: true }
  const inward = new InboundQueue(
    id => acknowledged.push(id),
    () => gate.isOpen,
    ({ topic }, done) => dealt.set(topic, done),
  )
  return { inward, acknowledged, dealt, gate, done: (id: number) => dealt.get(String(id))?.() }
}

describe('a message of the broker', () => {
  it('is acknowledged when it is dealt with, in the order in which they came', () => {
    const { inward, acknowledged, done } = open()
    for (const id of [1, 2, 3]) inward.take(messageOf(id))
    inward.skip(messageOf(4))
    done(3)
    done(2)
    expect(acknowledged).toEqual([])
    done(1)
    expect(acknowledged).toEqual([1, 2, 3, 4])
  })

  it('with QoS 0 is not', () => {
    const { inward, acknowledged, done } = open()
    inward.take(messageOf(0))
    done(0)
    expect(acknowledged).toEqual([])
  })

  it('waits as long as nothing is taken, in its order', () => {
    const { inward, dealt, gate } = open()
    gate.isOpen = false
    inward.take(messageOf(1))
    gate.isOpen = true
    inward.take(messageOf(2))
    expect([...dealt.keys()]).toEqual([])
    inward.resume()
    expect([...dealt.keys()]).toEqual(['1', '2'])
  })

  it('of a connection that is gone is not acknowledged on the next one', () => {
    const { inward, acknowledged, done } = open()
    inward.take(messageOf(1))
    inward.clear()
    inward.take(messageOf(2))
    done(1)
    expect(acknowledged).toEqual([])
    done(2)
    expect(acknowledged).toEqual([2])
  })

  it('is dropped when too much waits', () => {
    const { inward, acknowledged, dealt, done, gate } = open()
    gate.isOpen = false
    inward.take(messageOf(1, 100 * 1024 * 1024))
    inward.take(messageOf(2, 100 * 1024 * 1024))
    gate.isOpen = true
    inward.resume()
    done(1)
    expect([[...dealt.keys()], acknowledged]).toEqual([['1'], [1, 2]])
  })
})
