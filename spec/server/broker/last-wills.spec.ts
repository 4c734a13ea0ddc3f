import { describe, expect, it } from 'vitest'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { openCore, type ScriptedClient } from './scripted-client.js'

const willTo = (topic: string) => ({ will: { topic, payload: Buffer.from('gone'), qos: 0 as const, retain: false } })

const topicsOf = ({ messages }: ScriptedClient): string[] => messages.map(({ topic }) => topic)

/** Those who get a message, two of them too slow for it, and one who gets all, between them and behind them. */
function scene(refuse: (topic: string) => undefined = () => undefined) {
  const failures: unknown[] = []
  let allHere = false
  const { connect } = openCore({
    // Asked when a client comes with its will, too.
    checkPublish: (_, { topic }) => (allHere ? refuse(topic) : undefined),
    onError: error => void failures.push(error),
  })
  const first = connect('first')
  const slow = ['one', 'two'].map(name => connect(name, willTo(`will/${name}`)))
  const last = connect('last')
  for (const client of [first, ...slow, last]) client.subscribe('news')
  for (const client of [first, last]) client.subscribe('will/#')
  for (const { link } of slow) link.unsentBytes = LIMIT.backlogBytes + 1
  const publisher = connect('publisher')
  allHere = true
  const answer = publisher.publish('news', 'x')
  return { first, slow, last, publisher, answer, failures }
}

describe('The last will of a client that is too slow for a message', () => {
  it('comes behind the message, for everybody', () => {
    const { first, slow, last } = scene()
    expect(slow.map(({ ended }) => ended)).toEqual([true, true])
    for (const client of [first, last]) expect(topicsOf(client)).toEqual(['news', 'will/one', 'will/two'])
  })

  it('takes nothing with it when it cannot be published: other wills come, and the publisher hears nothing of it', () => {
    const fault = new RangeError('a fault')
    const { last, publisher, answer, failures } = scene(topic => {
      if (topic === 'will/one') throw fault
      return undefined
    })
    expect([topicsOf(last), failures, publisher.ended]).toEqual([['news', 'will/two'], [fault], false])
    expect(answer).toMatchObject([{ cmd: 'puback', messageId: 7 }])
  })
})

describe('A client for which something has to wait', () => {
  const waiting = () => {
    const { connect } = openCore()
    const heir = connect('heir')
    for (const topic of ['will/#', 'late']) heir.subscribe(topic)
    const client = connect('client', willTo('will/client'))
    client.link.unsentBytes = LIMIT.readPauseBytes + 1
    client.publish('late', 'x')
    expect(topicsOf(heir)).toEqual([])
    return { heir, client }
  }

  it('has it done when it says goodbye, and then leaves without a will', () => {
    const { heir, client } = waiting()
    client.say({ cmd: 'disconnect', reasonCode: 0 })
    expect([topicsOf(heir), client.ended]).toEqual([['late'], true])
  })

  it('leaves no will when the network breaks as soon as it has said goodbye', () => {
    const { heir, client } = waiting()
    client.sayAndVanish({ cmd: 'disconnect', reasonCode: 0 })
    expect(topicsOf(heir)).toEqual([])
  })

  it('leaves its will when it wants to, or says nothing', () => {
    for (const leave of ['goodbye with will', 'break'] as const) {
      const { heir, client } = waiting()
      if (leave === 'break') client.lose()
      else client.sayAndVanish({ cmd: 'disconnect', reasonCode: 4 })
      expect(topicsOf(heir)).toEqual(['will/client'])
    }
  })
})
