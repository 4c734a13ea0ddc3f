import type { IConnectPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { NO_QUOTAS } from '../../../src/server/broker/limits/quota-accounts.js'
import type { BrokerHandler } from '../../../src/server/broker/session/handler.js'
import { openHandler } from '../../support/open-broker.js'
import { openCore } from './scripted-client.js'

/** A number of clients whose endings, one within another, no stack holds. */
const MANY = 3_000

const TOPICS_OF_OTHERS = { canConnect: true, maySubscribe: () => true, canReceive: () => true }

const setUp = (handler: Partial<BrokerHandler> = {}, bounds: Parameters<typeof openCore>[1] = {}) => {
  const faults: unknown[] = []
  return { faults, ...openCore({ ...handler, onError: error => void faults.push(error) }, bounds) }
}

const willTo = (topic: string): Partial<IConnectPacket> => ({
  will: { topic, payload: Buffer.from('gone'), qos: 1, retain: false },
})

describe('a shared group whose members acknowledge nothing', () => {
  const MESSAGE = 'x'.repeat(1_000)
  const LIMIT_BYTES = MANY * MESSAGE.length

  const overflow = () => {
    const { core, connect, faults } = setUp({}, { memoryBudget: LIMIT_BYTES })
    const members = Array.from({ length: MANY }, (_, i) => connect(`member-${i}`))
    for (const member of members) member.subscribe('$share/group/topic')
    const publisher = connect('publisher')
    const answers: unknown[] = []
    while (members.every(({ ended }) => !ended)) answers.push(...publisher.publish('topic', MESSAGE))
    return { core, members, publisher, answers, faults }
  }

  it('evicting a member does not evict the members that receive its messages', () => {
    const { core, members, publisher, answers, faults } = overflow()
    const survivors = members.filter(({ ended }) => !ended)
    expect([faults, publisher.ended]).toEqual([[], false])
    expect(answers.length).toBeGreaterThan(0)
    expect(survivors.length).toBeGreaterThan(MANY / 2)
    expect(core.budget.used).toBeLessThanOrEqual(LIMIT_BYTES)
  })

  it('the messages of an evicted member go to other members as far as there is memory', () => {
    const { members, answers } = overflow()
    const received = members.flatMap(({ messages }) => messages)
    expect(received.length).toBeGreaterThan(answers.length)
  })

  it('the end of all sessions passes no messages from one to the next', () => {
    const { core, members, faults } = overflow()
    const counts = members.map(({ messages }) => messages.length)
    core.close()
    expect(members.map(({ messages }) => messages.length)).toEqual(counts)
    expect([faults, core.budget.used]).toEqual([[], 0])
  })
})

describe('a will that ends the session of the next will', () => {
  it('a chain of wills of offline sessions beyond a quota ends all of them', () => {
    const owner = { id: 'ann', ...TOPICS_OF_OTHERS }
    const quotas = { ...NO_QUOTAS, principal: { ...NO_QUOTAS.principal, waitingBytes: 1_000 } }
    const { core, connect, faults } = setUp({ authenticate: () => ({ type: 'accepted', owner }) }, { quotas })
    const stay = (name: string, filter: string, { will }: Partial<IConnectPacket> = {}): void => {
      const delayed = will && { will: { ...will, properties: { willDelayInterval: 60 } } }
      const client = connect(name, { clean: false, properties: { sessionExpiryInterval: 60 }, ...delayed })
      client.subscribe(filter)
      client.lose()
    }
    stay('filler', 'fill')
    for (let i = 0; i < MANY; i++) stay(`session-${i}`, `will/${i}`, willTo(`will/${i + 1}`))
    const publisher = connect('publisher')
    publisher.publish('fill', 'x'.repeat(1_000))
    expect(publisher.publish('will/0', 'start')).toMatchObject([{ cmd: 'puback' }])
    expect([faults, core.sessionCount, core.willCount]).toEqual([[], 2, 0])
  })

  it('a chain of wills to clients that read too slowly disconnects all of them', () => {
    const { connect, faults } = setUp()
    const slow = Array.from({ length: MANY }, (_, i) => connect(`slow-${i}`, willTo(`will/${i + 1}`)))
    for (const [i, client] of slow.entries()) {
      client.subscribe(`will/${i}`)
      client.link.unsentBytes = LIMIT.backlogBytes + 1
    }
    connect('publisher').publish('will/0', 'start')
    expect([faults, slow.filter(({ ended }) => !ended).length]).toEqual([[], 0])
  })

  it('a chain of wills that are requests with unread notifications disconnects all clients', () => {
    const peers: Client[] = []
    let next = 0
    const { connect, faults } = setUp({
      onConnected: client => void peers.push(client),
      handlePublish: () => {
        peers[next++]?.deliver('notification', { payload: Buffer.from('x'), userProperties: {} })
        return false
      },
    })
    const slow = Array.from({ length: MANY }, (_, i) => connect(`slow-${i}`, willTo(openHandler.topic)))
    for (const { link } of slow) link.unsentBytes = LIMIT.backlogBytes + 1
    connect('publisher').publish(openHandler.topic, 'start')
    expect([faults, slow.filter(({ ended }) => !ended).length]).toEqual([[], 0])
  })
})
