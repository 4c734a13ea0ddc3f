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

describe('the inbound queue', () => {
  it('acknowledges messages in order of arrival, once they are handled', () => {
    const { inward, acknowledged, done } = open()
    for (const id of [1, 2, 3]) inward.push(messageOf(id))
    inward.skip(messageOf(4))
    done(3)
    done(2)
    expect(acknowledged).toEqual([])
    done(1)
    expect(acknowledged).toEqual([1, 2, 3, 4])
  })

  it('does not acknowledge QoS 0', () => {
    const { inward, acknowledged, done } = open()
    inward.push(messageOf(0))
    done(0)
    expect(acknowledged).toEqual([])
  })

  it('keeps messages in order while it is closed', () => {
    const { inward, dealt, gate } = open()
    gate.isOpen = false
    inward.push(messageOf(1))
    gate.isOpen = true
    inward.push(messageOf(2))
    expect([...dealt.keys()]).toEqual([])
    inward.resume()
    expect([...dealt.keys()]).toEqual(['1', '2'])
  })

  it('does not acknowledge a message of a previous connection', () => {
    const { inward, acknowledged, done } = open()
    inward.push(messageOf(1))
    inward.clear()
    inward.push(messageOf(2))
    done(1)
    expect(acknowledged).toEqual([])
    done(2)
    expect(acknowledged).toEqual([2])
  })

  it('drops and acknowledges messages above its limit', () => {
    const { inward, acknowledged, dealt, done, gate } = open()
    gate.isOpen = false
    inward.push(messageOf(1, 100 * 1024 * 1024))
    inward.push(messageOf(2, 100 * 1024 * 1024))
    gate.isOpen = true
    inward.resume()
    done(1)
    expect([[...dealt.keys()], acknowledged]).toEqual([['1'], [1, 2]])
  })
})
