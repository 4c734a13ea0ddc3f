import { describe, expect, it } from 'vitest'
import type { ConnectionInfo, Done } from '../../../src/client/session/session.js'
import type { Publish } from '../../../src/core/mqtt5/packets.js'
import { RequestRejectedError } from '../../../src/core/util/errors.js'
import { type Handling, OutboundQueue } from '../../../src/server/attach/outbound-queue.js'
import { CONNECTION } from '../../support/fake-session.js'

const messageOf = (topic: string, bytes = 1): Publish => ({ topic, payload: new Uint8Array(bytes), userProperties: {} })

function open() {
  const sent: { topic: string; done: Done }[] = []
  let drained = 0
  const outcomes: string[] = []
  const session = {
    sizeOf: ({ payload }: Publish) => payload.length,
    publish: ({ topic }: Publish, done: Done) => void sent.push({ topic, done }),
  }
  const drops: string[] = []
  const outbound = new OutboundQueue(
    session,
    () => drained++,
    ({ message, reasonCode, cause }) => drops.push(`${message.topic} ${cause} ${reasonCode}`),
  )
  const connect = (info: Partial<ConnectionInfo> = {}): void => outbound.onConnected({ ...CONNECTION, ...info })
  const push = (topic: string, bytes?: number, handling?: Handling): void =>
    outbound.push(messageOf(topic, bytes), refusal => outcomes.push(`${topic} ${refusal?.status ?? 'ok'}`), handling)
  return {
    drops,
    outbound,
    connect,
    push,
    outcomes,
    topics: () => sent.map(({ topic }) => topic),
    sent,
    drained: () => drained,
  }
}

const MiB = 1024 * 1024

describe('the outbound queue', () => {
  it('is busy with large topics and correlation data as with large payloads', () => {
    const { outbound } = open()
    const correlationData = new Uint8Array(60_000)
    const push = (count: number): boolean => {
      for (let n = 0; n < count; n++)
        outbound.push({ ...messageOf('t'.repeat(4_000)), correlationData }, () => undefined)
      return outbound.isBusy
    }
    expect([push(500), push(50)]).toEqual([false, true])
  })

  it('drops any number of messages that the session rejects immediately', () => {
    const COUNT = 20_000
    const rejections: string[] = []
    const session = {
      sizeOf: () => 1,
      publish: ({ topic }: Publish, done: Done) => done(new RequestRejectedError(0, `no packet id for ${topic}`)),
    }
    const outbound = new OutboundQueue(session, () => undefined)
    for (let n = 0; n < COUNT; n++) outbound.push(messageOf(`${n}`), refusal => rejections.push(refusal?.message ?? ''))
    outbound.onConnected(CONNECTION)
    expect(rejections).toHaveLength(COUNT)
    expect(rejections.at(-1)).toContain(`${COUNT - 1}`)
  })

  it("sends messages once it is connected, within the broker's receive maximum", () => {
    const { connect, push, topics, sent, outcomes } = open()
    for (const topic of ['a', 'b', 'c']) push(topic)
    expect(topics()).toEqual([])
    connect({ receiveMaximum: 2 })
    expect(topics()).toEqual(['a', 'b'])
    sent[0]?.done(undefined)
    sent[1]?.done(new RequestRejectedError(16, 'nobody'))
    expect([topics(), outcomes]).toEqual([
      ['a', 'b', 'c'],
      ['a ok', 'b 16'],
    ])
  })

  it('an oversized or rejected notification is a loss, an oversized response is not', () => {
    const { outbound, connect, push, sent } = open()
    connect({ maximumPacketSize: 10 })
    push('large', 11, { isNotification: true })
    expect(outbound.takeNotificationLoss()).toBe(true)
    push('rejected', 1, { isNotification: true })
    sent[0]?.done(new RequestRejectedError(151, 'quota exceeded'))
    expect(outbound.takeNotificationLoss()).toBe(true)
    push('answer', 11)
    expect(outbound.takeNotificationLoss()).toBe(false)
  })

  it('discards matching notifications that await sending or resending, and resumes requests', () => {
    const { outbound, connect, push, topics, drained } = open()
    connect({ receiveMaximum: 2 })
    const notify = (topic: string, bytes?: number): void => push(topic, bytes, { isNotification: true, receiver: 'r' })
    for (const topic of ['sent', 'kept sent', 'kept']) notify(topic)
    outbound.onDisconnected(undefined)
    notify('large', 40 * MiB)
    push('answer', 1, { receiver: 'r' })
    expect([outbound.isBusy, drained()]).toEqual([true, 0])
    outbound.discardNotifications((receiver, topic) => receiver === 'r' && !topic.startsWith('kept'))
    expect([outbound.isBusy, drained()]).toEqual([false, 1])
    connect({ sessionPresent: true, receiveMaximum: 100 })
    expect(topics()).toEqual(['sent', 'kept sent', 'kept sent'])
  })

  it('sends a response to another client before all notifications except the first 256', () => {
    const { connect, push, topics, sent } = open()
    connect()
    for (let i = 0; i < 1_000; i++) push(`n${i}`, 1, { isNotification: true, receiver: 'watcher' })
    push('answer', 1, { receiver: 'other' })
    expect([topics().length, topics().at(-1)]).toEqual([257, 'answer'])
    sent[0]?.done(undefined)
    expect(topics().at(-1)).toBe('n256')
  })

  it('keeps responses and notifications of one client in order', () => {
    const { connect, push, topics } = open()
    push('watcher: change', 1, { isNotification: true, receiver: 'watcher' })
    push('watcher: answer to GET', 1, { receiver: 'watcher' })
    push('watcher: next change', 1, { isNotification: true, receiver: 'watcher' })
    push('other: answer', 1, { receiver: 'other' })
    connect()
    expect(topics()).toEqual(['watcher: change', 'other: answer', 'watcher: answer to GET', 'watcher: next change'])
  })

  it('sends a notification even while a client floods it with requests at a receive maximum of 1', () => {
    const { connect, push, topics, sent } = open()
    connect({ receiveMaximum: 1 })
    for (let i = 0; i < 10; i++) push(`asker: answer ${i}`, 1, { receiver: 'asker' })
    push('watcher: change', 1, { isNotification: true, receiver: 'watcher' })
    push('watcher: answer', 1, { receiver: 'watcher' })
    for (let i = 0; i < 5; i++) sent[i]?.done(undefined)
    expect(topics().indexOf('watcher: change')).toBeLessThan(3)
    expect(topics().indexOf('watcher: answer')).toBeLessThan(5)
  })

  it('notifies clients round-robin', () => {
    const { connect, push, topics } = open()
    for (const topic of ['a1', 'a2', 'a3', 'b1', 'c1'])
      push(topic, 1, { isNotification: true, receiver: topic.slice(0, 1) })
    connect()
    expect(topics()).toEqual(['a1', 'b1', 'c1', 'a2', 'a3'])
  })

  it('resends unacknowledged messages first and in order when the session resumes', () => {
    const { outbound, connect, push, topics, sent, outcomes } = open()
    connect()
    for (const topic of ['a', 'b', 'c']) push(topic)
    sent[1]?.done(undefined)
    outbound.onDisconnected(undefined)
    push('d')
    sent[0]?.done(undefined)
    connect({ sessionPresent: true })
    sent[3]?.done(undefined)
    sent[4]?.done(undefined)
    expect([topics().slice(3), outcomes]).toEqual([
      ['a', 'c', 'd'],
      ['b ok', 'a ok', 'c ok'],
    ])
  })

  it('drops unacknowledged messages when the session is lost, and keeps unsent messages', () => {
    const { outbound, connect, push, topics } = open()
    connect({ receiveMaximum: 1 })
    for (const topic of ['a', 'b']) push(topic)
    outbound.onDisconnected(undefined)
    connect({ sessionPresent: false })
    expect(topics()).toEqual(['a', 'b'])
  })

  it("drops a message that exceeds the broker's packet size", () => {
    const { connect, push, topics, outcomes } = open()
    connect({ maximumPacketSize: 10 })
    push('large', 11)
    push('small', 10)
    expect([topics(), outcomes]).toEqual([['small'], ['large ok']])
  })

  it('is bounded and reports backpressure and losses', () => {
    const { outbound, connect, push, sent, outcomes, drained } = open()
    connect({ receiveMaximum: 1 })
    push('a', 33 * MiB)
    expect([outbound.isBusy, outbound.takeNotificationLoss()]).toEqual([true, false])
    push('b', 33 * MiB)
    expect([outcomes, outbound.takeNotificationLoss(), outbound.takeNotificationLoss()]).toEqual([
      ['b ok'],
      true,
      false,
    ])
    sent[0]?.done(undefined)
    expect([outbound.isBusy, drained()]).toEqual([false, 1])
  })
})

describe('a message that may have closed the connection', () => {
  it('suspected messages are resent in groups of doubling size, with nothing else in flight', () => {
    const { outbound, connect, push, topics, sent } = open()
    connect()
    for (const topic of ['a', 'b', 'c', 'd']) push(topic)
    outbound.onDisconnected(130)
    push('new')
    connect({ sessionPresent: true })
    const groups = [topics().slice(4)]
    for (let known = 4; known < sent.length; ) {
      const before = sent.length
      for (const { done } of sent.slice(known)) done(undefined)
      known = before
      groups.push(topics().slice(known))
    }
    expect(groups).toEqual([['a'], ['b', 'c'], ['d'], ['new'], []])
  })

  it('a lone message is dropped if the broker closes the connection with a matching code', () => {
    const { outbound, connect, push, topics, outcomes, drops } = open()
    connect()
    push('poison')
    outbound.onDisconnected(144)
    push('poison')
    connect({ sessionPresent: true })
    push('other')
    expect(topics()).toEqual(['poison', 'other'])
    expect(outcomes).toEqual(['poison ok', 'poison ok'])
    expect(drops).toEqual(['poison connection-ended 144'])
  })

  it('a lone message is dropped after three lost connections, and watches register again', () => {
    const { outbound, connect, push, topics, drops } = open()
    connect()
    push('poison')
    for (const reasonCode of [undefined, 139, undefined]) {
      expect([drops, outbound.takeNotificationLoss()]).toEqual([[], false])
      outbound.onDisconnected(reasonCode)
      connect({ sessionPresent: true })
    }
    expect([drops, outbound.takeNotificationLoss()]).toEqual([['poison connection-ended undefined'], true])
    expect(topics()).toEqual(['poison', 'poison', 'poison'])
  })

  it.each([1, 2, 7, 100])('a suspected message among %i others is found, and none of the others is lost', count => {
    const { outbound, connect, push, topics, sent, outcomes, drops } = open()
    const names = [...Array.from({ length: count }, (_, i) => String(i))]
    names.splice(Math.floor(count / 2), 0, 'poison')
    connect({ receiveMaximum: 1_000 })
    for (const name of names) push(name)
    for (let known = 0; known < sent.length; ) {
      const group = topics().slice(known)
      const acknowledged = sent.slice(known)
      known = sent.length
      // The client reads up to the message that ends the connection, and acknowledges no message from this read.
      if (group.includes('poison')) {
        outbound.onDisconnected(130)
        connect({ sessionPresent: true })
      } else for (const { done } of acknowledged) done(undefined)
    }
    expect(drops).toEqual(['poison connection-ended 130'])
    expect(outcomes.sort()).toEqual(names.map(name => `${name} ok`).sort())
  })
})
