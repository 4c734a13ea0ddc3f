import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Delivery } from '../../../../src/server/broker/routing/delivery.js'
import { DeliveryQueue, type Sender } from '../../../../src/server/broker/session/delivery-queue.js'
import { effort } from '../../../support/effort.js'
import { messageOf } from '../support.js'

interface Sent {
  readonly name: string
  readonly packetId: number
  readonly dup: boolean
}

const deliveryOf = (topic: string, of: Partial<Delivery> = {}): Delivery => ({
  ...messageOf(topic),
  subscriptionIds: [],
  ...of,
})

/** A sender that accepts every message within its size limit. */
class Wire implements Sender {
  hasBacklog = false
  readonly sent: Sent[] = []
  readonly released: number[] = []
  readonly tooLarge = new Set<string>()

  publish({ topic }: Delivery, packetId: number, dup: boolean): boolean {
    if (this.tooLarge.has(topic)) return false
    this.sent.push({ name: topic, packetId, dup })
    return true
  }

  pubrel(packetId: number): void {
    this.released.push(packetId)
  }

  get names(): string[] {
    return this.sent.map(({ name }) => name)
  }
}

const sendAll = (queue: DeliveryQueue): void => {
  while (queue.sendNext());
}

const setUp = (receiveMaximum = 10) => {
  const budget = new MemoryBudget(1e9)
  const queue = new DeliveryQueue(budget)
  const wire = new Wire()
  queue.resume(wire, receiveMaximum)
  const again = (maximum = receiveMaximum): Wire => {
    const next = new Wire()
    queue.suspend()
    queue.resume(next, maximum)
    sendAll(queue)
    return next
  }
  return { budget, queue, wire, again }
}

describe('DeliveryQueue', () => {
  it('sends messages up to the receive maximum, and one more after each acknowledgement', () => {
    const { queue, wire } = setUp(2)
    for (const name of ['a', 'b', 'c', 'd']) queue.deliver(deliveryOf(name), true)
    expect(wire.names).toEqual(['a', 'b'])
    queue.puback(wire.sent[1]?.packetId ?? 0)
    expect(wire.names).toEqual(['a', 'b', 'c'])
  })

  it('copies a queued view of a larger buffer, and sends other messages without a copy', () => {
    const seen: (Uint8Array | undefined)[] = []
    const queue = new DeliveryQueue(new MemoryBudget(1e9))
    const publish = ({ content }: Delivery): boolean => seen.push(content.correlationData) > 0
    const sender: Sender = { hasBacklog: false, publish, pubrel: () => undefined }
    queue.resume(sender, 2)
    const view = new Uint8Array(1_000).subarray(0, 16)
    const delivery = deliveryOf('a', { qos: 1 })
    const viewing = { ...delivery, content: { ...delivery.content, correlationData: view } }
    for (const isPersistent of [false, true, false]) queue.deliver(viewing, isPersistent)
    queue.puback(1)
    expect(seen.map(each => each?.buffer.byteLength)).toEqual([1_000, 16, 16])
  })

  it('retransmits unacknowledged messages in order, with their packet ids, before new ones', () => {
    const { queue, wire, again } = setUp(3)
    for (const name of ['a', 'b', 'c', 'd']) queue.deliver(deliveryOf(name), true)
    const [, b] = wire.sent
    queue.puback(b?.packetId ?? 0)
    const next = again()
    expect(next.sent.map(({ name, dup }) => [name, dup])).toEqual([
      ['a', true],
      ['c', true],
      ['d', true],
    ])
    expect(next.sent.map(({ packetId }) => packetId)).toEqual(
      [...wire.sent].filter(one => one !== b).map(one => one.packetId),
    )
  })

  it('after PUBREC, the delivery queue retransmits PUBREL but not the message', () => {
    const { queue, wire, again } = setUp()
    queue.deliver(deliveryOf('a', { qos: 2 }), true)
    expect(queue.pubrec(wire.sent[0]?.packetId ?? 0, true)).toBe(true)
    const next = again()
    expect(next.sent).toEqual([])
    expect(next.released).toEqual([wire.sent[0]?.packetId])
    expect(queue.pubcomp(next.released[0] ?? 0)).toBe(true)
    expect(again().released).toEqual([])
  })

  it('the delivery queue sends PUBREL for a QoS 2 message that cannot be retransmitted', () => {
    const { queue, wire, again, budget } = setUp()
    queue.deliver(deliveryOf('a', { qos: 2 }), true)
    queue.deliver(deliveryOf('b', { qos: 1 }), true)
    queue.suspend()
    const small = new Wire()
    for (const name of ['a', 'b']) small.tooLarge.add(name)
    queue.resume(small, 1)
    sendAll(queue)
    expect(small.released).toEqual([wire.sent[0]?.packetId])
    expect(budget.used).toBe(0)
    queue.deliver(deliveryOf('c'), true)
    expect(small.names).toEqual(['c'])
    expect(small.sent[0]?.packetId).not.toBe(small.released[0])
    expect(again().released).toEqual(small.released)
  })

  it('the delivery queue ignores an acknowledgement of the wrong type', () => {
    const { queue, wire } = setUp()
    queue.deliver(deliveryOf('a', { qos: 1 }), true)
    queue.deliver(deliveryOf('b', { qos: 2 }), true)
    const [a = 0, b = 0] = wire.sent.map(({ packetId }) => packetId)
    expect([queue.pubrec(a, true), queue.pubcomp(a), queue.puback(b), queue.pubcomp(b)]).toEqual(Array(4).fill(false))
    expect([queue.puback(999), queue.pubrec(999, true), queue.pubcomp(999)]).toEqual(Array(3).fill(false))
    expect(queue.puback(a) && queue.pubrec(b, true) && queue.pubcomp(b)).toBe(true)
  })

  it('the delivery queue discards expired messages and keeps the order of the others', () => {
    const { queue, wire } = setUp(1)
    for (const name of ['a', 'b', 'c', 'd'])
      queue.deliver(deliveryOf(name, { expiresAt: name === 'c' ? 100 : undefined }), true)
    queue.discardExpired(100, 'a')
    for (let i = 0; i < 3; i++) queue.puback(wire.sent.at(-1)?.packetId ?? 0)
    expect(wire.names).toEqual(['a', 'b', 'd'])
  })

  it('returns unacknowledged shared messages, except QoS 2 messages already sent [4.8.2-5]', () => {
    const { queue } = setUp(2)
    const reassign = (): void => undefined
    queue.deliver(deliveryOf('a', { qos: 1, reassign }), true)
    queue.deliver(deliveryOf('b', { qos: 2, reassign }), true)
    queue.deliver(deliveryOf('c', { qos: 2, reassign }), true)
    queue.deliver(deliveryOf('d', { qos: 1 }), true)
    expect(queue.clear().map(({ topic }) => topic)).toEqual(['a', 'c'])
  })

  it('charges all messages until they are acknowledged, and counts retained ones apart', () => {
    const { queue, wire, budget } = setUp(1)
    queue.deliver(deliveryOf('a'), true)
    const one = budget.used
    queue.deliver(deliveryOf('b', { isReplay: true }), true)
    expect([budget.used, queue.bytes, queue.length]).toEqual([2 * one, 2 * one, 1])
    queue.puback(wire.sent[0]?.packetId ?? 0)
    expect([budget.used, queue.bytes, queue.length]).toEqual([one, one, 0])
    queue.puback(wire.sent[1]?.packetId ?? 0)
    expect([budget.used, queue.bytes]).toEqual([0, 0])
    queue.deliver(deliveryOf('c', { isReplay: true }), true)
    queue.clear()
    expect([budget.used, queue.bytes]).toEqual([0, 0])
  })

  it('is full when the number or the bytes of retained messages reach a limit', () => {
    const usual = { ...LIMIT }
    Object.assign(LIMIT, { replayedMessages: 3 })
    try {
      const { queue, wire } = setUp(9)
      const replay = (text: string): boolean => {
        queue.deliver(deliveryOf(text, { isReplay: true }), true)
        return queue.isReplayFull
      }
      queue.deliver(deliveryOf('a'), true)
      expect([replay('a'), replay('b'), replay('c')]).toEqual([false, false, true])
      queue.puback(wire.sent[1]?.packetId ?? 0)
      expect([queue.isReplayFull, queue.isFull]).toEqual([false, false])
      Object.assign(LIMIT, { replayedBytes: queue.bytes })
      expect(replay('d')).toBe(true)
    } finally {
      Object.assign(LIMIT, usual)
    }
  })

  it('the delivery queue does not store a message that will never be retransmitted', () => {
    const { queue, wire, budget } = setUp()
    queue.deliver(deliveryOf('a'), false)
    expect(budget.used).toBe(0)
    expect(queue.puback(wire.sent[0]?.packetId ?? 0)).toBe(true)
  })
})

/** The possible next steps of a client that receives all messages. */
type Event = 'deliver' | 'acknowledge first' | 'acknowledge last' | 'reconnect' | 'settle'

describe('DeliveryQueue with random events', () => {
  const events = fc.array(
    fc.constantFrom<Event>('deliver', 'deliver', 'acknowledge first', 'acknowledge last', 'reconnect', 'settle'),
    { maxLength: 60 },
  )

  it('delivers all messages in order within the receive maximum, with unique packet ids', () => {
    fc.assert(
      fc.property(events, fc.integer({ min: 1, max: 4 }), fc.constantFrom<1 | 2>(1, 2), (all, maximum, qos) => {
        const { queue, budget, ...first } = setUp(maximum)
        let { wire } = first
        let open: Sent[] = []
        let read = 0
        let delivered = 0
        const order: string[] = []
        const take = (): void => {
          for (const sent of wire.sent.slice(read)) {
            expect(open.some(({ packetId }) => packetId === sent.packetId)).toBe(false)
            open.push(sent)
            if (!order.includes(sent.name)) order.push(sent.name)
          }
          read = wire.sent.length
          expect(open.length).toBeLessThanOrEqual(maximum)
        }
        const acknowledge = (sent: Sent | undefined): void => {
          if (sent === undefined) return
          open = open.filter(other => other !== sent)
          const { packetId } = sent
          expect(qos === 1 ? queue.puback(packetId) : queue.pubrec(packetId, true) && queue.pubcomp(packetId)).toBe(
            true,
          )
          take()
        }
        const act = (event: Event): void => {
          if (event === 'deliver') queue.deliver(deliveryOf(`${delivered++}`, { qos }), true)
          else if (event === 'acknowledge first') acknowledge(open[0])
          else if (event === 'acknowledge last') acknowledge(open.at(-1))
          else if (event === 'settle') while (open.length > 0) acknowledge(open[0])
          else {
            wire = first.again(maximum)
            open = []
            read = 0
          }
          take()
        }
        for (const event of [...all, 'reconnect', 'settle'] as const) act(event)
        expect(order).toEqual(Array.from({ length: delivered }, (_, i) => `${i}`))
        expect(budget.used).toBe(0)
      }),
      { numRuns: effort(1_000, 200) },
    )
  })
})
