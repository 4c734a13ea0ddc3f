import { afterEach, describe, expect, it } from 'vitest'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { openHandler } from '../../support/open-broker.js'
import { openCore, type ScriptedClient } from './scripted-client.js'

const willTo = (topic: string) => ({ will: { topic, payload: Buffer.from('gone'), qos: 0 as const, retain: false } })

const topicsOf = ({ messages }: ScriptedClient): string[] => messages.map(({ topic }) => topic)

/** Connects two subscribers that are too slow for a message, and other subscribers before and after them. */
function scene(refuse: (topic: string) => undefined = () => undefined) {
  const failures: unknown[] = []
  let areConnected = false
  const { connect } = openCore({
    // The handler is also called for the will on CONNECT.
    checkPublish: (_, { topic }) => (areConnected ? refuse(topic) : undefined),
    onError: error => void failures.push(error),
  })
  const first = connect('first')
  const slow = ['one', 'two'].map(name => connect(name, willTo(`will/${name}`)))
  const last = connect('last')
  for (const client of [first, ...slow, last]) client.subscribe('news')
  for (const client of [first, last]) client.subscribe('will/#')
  for (const { link } of slow) link.unsentBytes = LIMIT.backlogBytes + 1
  const publisher = connect('publisher')
  areConnected = true
  const answer = publisher.publish('news', 'x')
  return { first, slow, last, publisher, answer, failures }
}

describe('the will of a session that ends because too many clients are offline', () => {
  const usual = { ...LIMIT }
  afterEach(() => {
    Object.assign(LIMIT, usual)
  })

  it('subscriptions are released once, even if the will overflows a client that goes offline', () => {
    const clients: Client[] = []
    const { core, connect } = openCore({
      onConnected: client => void clients.push(client),
      handlePublish: () => {
        clients.at(-1)?.deliver('response', { payload: Buffer.from('x'), userProperties: {} })
        return false
      },
    })
    const stay = (name: string, { will } = willTo('none')): ScriptedClient => {
      const client = connect(name, {
        clean: false,
        properties: { sessionExpiryInterval: 60 },
        will: { ...will, qos: 1, properties: { willDelayInterval: 30 } },
      })
      client.subscribe('will/first')
      return client
    }
    Object.assign(LIMIT, { offlineSessions: 1 })
    const [first, second, slow] = [stay('first', willTo(openHandler.topic)), stay('second'), stay('slow')]
    slow.link.unsentBytes = LIMIT.backlogBytes + 1
    first.lose()
    second.lose()
    expect(slow.ended).toBe(true)
    expect(core.gauges()).toMatchObject({ sessions: 1, subscriptions: 1 })
    core.close()
    expect(core.budget.used).toBe(0)
  })
})

describe('the will of a client that is too slow for a message', () => {
  it('is published after the message has been routed to every subscriber', () => {
    const { first, slow, last } = scene()
    expect(slow.map(({ ended }) => ended)).toEqual([true, true])
    for (const client of [first, last]) expect(topicsOf(client)).toEqual(['news', 'will/one', 'will/two'])
  })

  it('affects neither other wills nor the publisher when publishing the will fails', () => {
    const fault = new RangeError('a fault')
    const { last, publisher, answer, failures } = scene(topic => {
      if (topic === 'will/one') throw fault
      return undefined
    })
    expect([topicsOf(last), failures, publisher.ended]).toEqual([['news', 'will/two'], [fault], false])
    expect(answer).toMatchObject([{ cmd: 'puback', messageId: 7 }])
  })
})

describe('a client with queued work', () => {
  const waiting = () => {
    const { connect } = openCore()
    const subscriber = connect('heir')
    for (const topic of ['will/#', 'late']) subscriber.subscribe(topic)
    const client = connect('client', willTo('will/client'))
    client.link.unsentBytes = LIMIT.readPauseBytes + 1
    client.publish('late', 'x')
    expect(topicsOf(subscriber)).toEqual([])
    return { subscriber, client }
  }

  it('completes the work after DISCONNECT and leaves no will', () => {
    const { subscriber, client } = waiting()
    client.say({ cmd: 'disconnect', reasonCode: 0 })
    expect([topicsOf(subscriber), client.ended]).toEqual([['late'], true])
  })

  it('leaves no will when the network fails right after DISCONNECT', () => {
    const { subscriber, client } = waiting()
    client.sayAndVanish({ cmd: 'disconnect', reasonCode: 0 })
    expect(topicsOf(subscriber)).toEqual([])
  })

  it('leaves a will after a DISCONNECT that requests the will, or without DISCONNECT', () => {
    for (const leave of ['goodbye with will', 'break'] as const) {
      const { subscriber, client } = waiting()
      if (leave === 'break') client.lose()
      else client.sayAndVanish({ cmd: 'disconnect', reasonCode: 4 })
      expect(topicsOf(subscriber)).toEqual(['will/client'])
    }
  })
})
