import { describe, expect, it } from 'vitest'
import { Outgoing } from '../../src/attach/outgoing.js'
import { RequestRejectedError } from '../../src/base/errors.js'
import type { ConnectionInfo, Done } from '../../src/mqtt/session.js'
import type { Publish } from '../../src/packet/publish.js'
import { CONNECTION } from '../support/fake-session.js'

const messageOf = (topic: string, bytes = 1): Publish => ({ topic, payload: new Uint8Array(bytes), userProperties: {} })

function open() {
  const sent: { topic: string; done: Done }[] = []
  let drained = 0
  const told: string[] = []
  const session = {
    sizeOf: ({ payload }: Publish) => payload.length,
    publish: ({ topic }: Publish, done: Done) => void sent.push({ topic, done }),
  }
  const outgoing = new Outgoing(session, () => drained++)
  const connect = (info: Partial<ConnectionInfo> = {}): void => outgoing.connected({ ...CONNECTION, ...info })
  const push = (topic: string, bytes?: number): void =>
    outgoing.push(messageOf(topic, bytes), refusal => told.push(`${topic} ${refusal?.status ?? 'ok'}`))
  return { outgoing, connect, push, told, topics: () => sent.map(({ topic }) => topic), sent, drained: () => drained }
}

const MiB = 1024 * 1024

describe('what is published', () => {
  it('waits for the connection, and is never more unacknowledged than the broker takes', () => {
    const { connect, push, topics, sent, told } = open()
    for (const topic of ['a', 'b', 'c']) push(topic)
    expect(topics()).toEqual([])
    connect({ receiveMaximum: 2 })
    expect(topics()).toEqual(['a', 'b'])
    sent[0]?.done(undefined)
    sent[1]?.done(new RequestRejectedError(16, 'nobody'))
    expect([topics(), told]).toEqual([
      ['a', 'b', 'c'],
      ['a ok', 'b 16'],
    ])
  })

  it('goes once more, first and in its order, when the broker kept the session', () => {
    const { outgoing, connect, push, topics, sent, told } = open()
    connect()
    for (const topic of ['a', 'b', 'c']) push(topic)
    sent[1]?.done(undefined)
    outgoing.disconnected()
    push('d')
    sent[0]?.done(undefined)
    connect({ sessionPresent: true })
    expect([topics().slice(3), told]).toEqual([['a', 'c', 'd'], ['b ok']])
  })

  it('is gone with the session, but for what was never sent', () => {
    const { outgoing, connect, push, topics } = open()
    connect({ receiveMaximum: 1 })
    for (const topic of ['a', 'b']) push(topic)
    outgoing.disconnected()
    connect({ sessionPresent: false })
    expect(topics()).toEqual(['a', 'b'])
  })

  it('is not sent when the broker would not take the packet', () => {
    const { connect, push, topics, told } = open()
    connect({ maximumPacketSize: 10 })
    push('large', 11)
    push('small', 10)
    expect([topics(), told]).toEqual([['small'], ['large ok']])
  })

  it('is bounded: it says when it is busy, when there is room again, and that something was lost', () => {
    const { outgoing, connect, push, sent, told, drained } = open()
    connect({ receiveMaximum: 1 })
    push('a', 33 * MiB)
    expect([outgoing.isBusy, outgoing.takeLost()]).toEqual([true, false])
    push('b', 33 * MiB)
    expect([told, outgoing.takeLost(), outgoing.takeLost()]).toEqual([['b ok'], true, false])
    sent[0]?.done(undefined)
    expect([outgoing.isBusy, drained()]).toEqual([false, 1])
  })
})
