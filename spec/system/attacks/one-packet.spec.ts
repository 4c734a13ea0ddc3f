import { describe, expect, it } from 'vitest'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import {
  binary,
  connect,
  disconnect,
  PROPERTY,
  packet,
  properties,
  publish,
  subscribe,
  text,
  uint16,
  variable,
} from '../../support/packets.js'
import { responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const { responseTopic, correlationData, sessionExpiry, contentType, messageExpiry, user } = PROPERTY
const GREETING = connect('attacker')
const TO_THE_END = { toTheEnd: true, longestAttack: 15_000 }
const NOTHING = Buffer.alloc(0)
const twice = (property: Buffer): Buffer => properties(property, property)
const will = (own: Buffer): Buffer =>
  connect('attacker', { will: { topic: 'will', payload: NOTHING, properties: own } })

/** Expects each packet to end its connection. */
async function expectEach(scene: Scene, packets: Readonly<Record<string, readonly Buffer[]>>): Promise<void> {
  const survivors: string[] = []
  for (const [name, pieces] of Object.entries(packets)) {
    const attacker = await scene.open()
    await attacker.send(...pieces)
    await attacker.settled()
    if (!attacker.ended) survivors.push(name)
    attacker.hangUp()
    expect([name, scene.store.fate]).toEqual([name, 'running'])
  }
  expect(survivors).toEqual([])
}

describe('A packet', () => {
  it('with a duplicate property ends only its connection', async () => {
    const own = properties(responseTopic(responseTopicOf('attacker')), correlationData('x'), correlationData('y'))
    const PACKETS: Record<string, readonly Buffer[]> = {
      'two session expiries in CONNECT': [connect('attacker', { properties: twice(sessionExpiry(60)) })],
      'two response topics in a will': [will(twice(responseTopic('x')))],
      'two correlation data in a will': [will(twice(correlationData('x')))],
      'two response topics in PUBLISH': [GREETING, publish('t', NOTHING, { properties: twice(responseTopic('x')) })],
      'two correlation data in PUBLISH': [GREETING, publish('t', NOTHING, { properties: twice(correlationData('x')) })],
      'two correlation data in a request': [
        GREETING,
        publish(INVOKE_TOPIC, command('GET key'), { qos: 1, properties: own }),
      ],
      'two content types': [GREETING, publish('t', NOTHING, { qos: 1, properties: twice(contentType('x')) })],
      'two message expiries': [GREETING, publish('t', NOTHING, { qos: 2, properties: twice(messageExpiry(1)) })],
      'two session expiries in DISCONNECT': [GREETING, disconnect(sessionExpiry(1), sessionExpiry(1))],
    }
    const scene = await openScene()
    await scene.under(async () => expectEach(scene, PACKETS), TO_THE_END)
  })

  it('with a property length beyond its end ends only its connection', async () => {
    const past = (property: Buffer, at = 1): Buffer => {
      const longer = Buffer.from(property)
      longer.writeUInt16BE(0x7fff, at)
      return properties(longer)
    }
    const publishWith = (own: Buffer): readonly Buffer[] => [GREETING, publish('t', NOTHING, { properties: own })]
    const PACKETS: Record<string, readonly Buffer[]> = {
      'a response topic': publishWith(past(responseTopic('xx'))),
      'correlation data': publishWith(past(correlationData('xx'))),
      'a content type': publishWith(past(contentType('xx'))),
      'the name of a user property': publishWith(past(user('xx', 'yy'))),
      'the value of a user property': publishWith(past(user('xx', 'yy'), 5)),
      'a number cut off': publishWith(properties(Buffer.of(0x02, 0))),
      'a property without a value': publishWith(properties(Buffer.of(0x26))),
      'all properties': publishWith(Buffer.of(100, 0x02)),
      'the topic': [GREETING, packet(0x30, uint16(0x7fff), Buffer.from('t'))],
      'a will': [will(past(correlationData('xx')))],
      'CONNECT itself': [connect('attacker', { properties: past(user('xx', 'yy')) })],
      'a client id': [packet(0x10, text('MQTT'), Buffer.of(5, 2, 0, 0, 0), uint16(100))],
      'a filter': [GREETING, packet(0x82, uint16(1), properties(), uint16(100), Buffer.from('x'))],
      'properties of SUBSCRIBE': [GREETING, packet(0x82, uint16(1), past(user('x', 'y')), binary(NOTHING))],
      'properties of DISCONNECT': [GREETING, packet(0xe0, Buffer.of(0), variable(200), Buffer.of(0x1f))],
    }
    const scene = await openScene()
    await scene.under(async () => expectEach(scene, PACKETS), TO_THE_END)
  })
})

describe('A will', () => {
  it('that is not permitted harms no other client, even if the clock jumps during its connection', async () => {
    const scene = await openScene()
    await scene.under(async () => {
      for (const [n, topic] of [INVOKE_TOPIC, '$SYS/x', responseTopicOf('innocent'), 'a/#', ''].entries()) {
        const attacker = await scene.connect(connect(`will-${n}`, { will: { topic, payload: NOTHING } }))
        await scene.store.jump(86_400_000)
        attacker.hangUp()
      }
    }, TO_THE_END)
  })

  it('is not published during its connection even if the system sleeps for a day, but after it', async () => {
    const scene = await openScene()
    await scene.under(async () => {
      const reader = await scene.connect('reader')
      await reader.send(subscribe(['last/words']))
      await reader.settled()
      const testament = { topic: 'last/words', payload: Buffer.from('farewell') }
      const client = await scene.connect(connect('mortal', { will: testament }))
      await scene.store.jump(86_400_000)
      await client.settled()
      await reader.settled()
      const before = reader.received
      client.hangUp()
      while (!reader.last.includes('farewell')) await reader.hears()
      expect(reader.received).toBe(before + publish('last/words', testament.payload).length)
    }, TO_THE_END)
  })
})

describe('The broker’s own information', () => {
  it('reveals no client to subscribers of # or $SYS', async () => {
    const scene = await openScene()
    await scene.under(async () => {
      const spy = await scene.connect('spy')
      let heard = ''
      spy.socket.on('data', data => {
        heard += data.toString('latin1')
      })
      await spy.send(subscribe(['#', '+/#', '$SYS/#', '$SYS/+/+/+', '$share/g/#', '$share/g/$SYS/#']))
      await spy.settled()
      const passer = await scene.connect('passer-by')
      await passer.send(subscribe(['secret/filter']))
      await passer.settled()
      passer.hangUp()
      await (await scene.connect('passer-by')).settled()
      await spy.settled()
      expect(heard).not.toMatch(/passer-by|innocent|secret/)
    }, TO_THE_END)
  })
})
