import { describe, expect, it } from 'vitest'
import type { InboundMessage } from '../../../src/client/session/session.js'
import { InboundQueue } from '../../../src/server/attach/inbound-queue.js'

const MAX_QUEUED_BYTES = 128 * 1024 * 1024

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
  const handled = new Map<string, () => void>()
  const gate = { isOpen: true }
  const inbound = new InboundQueue(
    id => acknowledged.push(id),
    () => gate.isOpen,
    ({ topic }, done) => handled.set(topic, done),
  )
  return { inbound, acknowledged, handled, gate, done: (id: number) => handled.get(String(id))?.() }
}

describe('the inbound queue', () => {
  it('acknowledges messages in order of arrival, after they are handled', () => {
    const { inbound, acknowledged, done } = open()
    for (const id of [1, 2, 3]) inbound.push(messageOf(id))
    inbound.skip(messageOf(4))
    done(3)
    done(2)
    expect(acknowledged).toEqual([])
    done(1)
    expect(acknowledged).toEqual([1, 2, 3, 4])
  })

  it('does not acknowledge messages with QoS 0', () => {
    const { inbound, acknowledged, done } = open()
    inbound.push(messageOf(0))
    done(0)
    expect(acknowledged).toEqual([])
  })

  it('counts correlation data and user properties of the messages that it keeps', () => {
    const { inbound, acknowledged, handled, gate } = open()
    gate.isOpen = false
    const large = 'x'.repeat(60_000)
    const correlationData = new Uint8Array(60_000)
    const userProperties = { one: large, many: [large, large] }
    const MESSAGES = 1_000
    for (let id = 1; id <= MESSAGES; id++) inbound.push({ ...messageOf(id), correlationData, userProperties })
    gate.isOpen = true
    inbound.resume()
    expect(acknowledged).toEqual([])
    expect(handled.size * 240_000).toBeLessThanOrEqual(MAX_QUEUED_BYTES)
    expect((handled.size + 2) * 240_000).toBeGreaterThan(MAX_QUEUED_BYTES)
    gate.isOpen = false
    inbound.push({ ...messageOf(MESSAGES + 1), correlationData, userProperties })
    gate.isOpen = true
    inbound.resume()
    expect([...handled.keys()].at(-1)).toBe(String(MESSAGES + 1))
  })

  it('keeps messages in order while it is closed', () => {
    const { inbound, handled, gate } = open()
    gate.isOpen = false
    inbound.push(messageOf(1))
    gate.isOpen = true
    inbound.push(messageOf(2))
    expect([...handled.keys()]).toEqual([])
    inbound.resume()
    expect([...handled.keys()]).toEqual(['1', '2'])
  })

  it('does not acknowledge a message of a previous connection', () => {
    const { inbound, acknowledged, done } = open()
    inbound.push(messageOf(1))
    inbound.clear()
    inbound.push(messageOf(2))
    done(1)
    expect(acknowledged).toEqual([])
    done(2)
    expect(acknowledged).toEqual([2])
  })

  it('drops and acknowledges messages above its limit', () => {
    const { inbound, acknowledged, handled, done, gate } = open()
    gate.isOpen = false
    inbound.push(messageOf(1, 100 * 1024 * 1024))
    inbound.push(messageOf(2, 100 * 1024 * 1024))
    gate.isOpen = true
    inbound.resume()
    done(1)
    expect([[...handled.keys()], acknowledged]).toEqual([['1'], [1, 2]])
  })
})
