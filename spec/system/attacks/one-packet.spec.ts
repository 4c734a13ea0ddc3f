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
import { TestClient } from '../../support/test-client.js'
import { responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const { responseTopic, correlationData, sessionExpiry, contentType, messageExpiry, user } = PROPERTY
const CONNECT = connect('attacker')
const TO_THE_END = { mustComplete: true }
const EMPTY = Buffer.alloc(0)
const duplicated = (property: Buffer): Buffer => properties(property, property)
const connectWithWill = (own: Buffer): Buffer =>
  connect('attacker', { will: { topic: 'will', payload: EMPTY, properties: own } })

/** Expects each packet to end its connection. */
async function expectEach(scene: Scene, packets: Readonly<Record<string, readonly Buffer[]>>): Promise<void> {
  const survivors: string[] = []
  for (const [name, pieces] of Object.entries(packets)) {
    const attacker = await scene.open()
    await attacker.send(...pieces)
    await attacker.settled()
    if (!attacker.ended) survivors.push(name)
    attacker.hangUp()
    expect([name, scene.store.exitStatus]).toEqual([name, 'running'])
  }
  expect(survivors).toEqual([])
}

describe('a packet', () => {
  it('with a duplicate property ends only its connection', async () => {
    const own = properties(responseTopic(responseTopicOf('attacker')), correlationData('x'), correlationData('y'))
    const PACKETS: Record<string, readonly Buffer[]> = {
      'two session expiries in CONNECT': [connect('attacker', { properties: duplicated(sessionExpiry(60)) })],
      'two response topics in a will': [connectWithWill(duplicated(responseTopic('x')))],
      'two correlation data in a will': [connectWithWill(duplicated(correlationData('x')))],
      'two response topics in PUBLISH': [CONNECT, publish('t', EMPTY, { properties: duplicated(responseTopic('x')) })],
      'two correlation data in PUBLISH': [
        CONNECT,
        publish('t', EMPTY, { properties: duplicated(correlationData('x')) }),
      ],
      'two correlation data in a request': [
        CONNECT,
        publish(INVOKE_TOPIC, command('GET key'), { qos: 1, properties: own }),
      ],
      'two content types': [CONNECT, publish('t', EMPTY, { qos: 1, properties: duplicated(contentType('x')) })],
      'two message expiries': [CONNECT, publish('t', EMPTY, { qos: 2, properties: duplicated(messageExpiry(1)) })],
      'two session expiries in DISCONNECT': [CONNECT, disconnect(sessionExpiry(1), sessionExpiry(1))],
    }
    const scene = await openScene()
    await scene.runAttack(async () => expectEach(scene, PACKETS), TO_THE_END)
  })

  it('with a property length beyond its end ends only its connection', async () => {
    const withExcessLength = (property: Buffer, at = 1): Buffer => {
      const changed = Buffer.from(property)
      changed.writeUInt16BE(0x7fff, at)
      return properties(changed)
    }
    const publishWith = (own: Buffer): readonly Buffer[] => [CONNECT, publish('t', EMPTY, { properties: own })]
    const PACKETS: Record<string, readonly Buffer[]> = {
      'a response topic': publishWith(withExcessLength(responseTopic('xx'))),
      'correlation data': publishWith(withExcessLength(correlationData('xx'))),
      'a content type': publishWith(withExcessLength(contentType('xx'))),
      'the name of a user property': publishWith(withExcessLength(user('xx', 'yy'))),
      'the value of a user property': publishWith(withExcessLength(user('xx', 'yy'), 5)),
      'a number cut off': publishWith(properties(Buffer.of(0x02, 0))),
      'a property without a value': publishWith(properties(Buffer.of(0x26))),
      'all properties': publishWith(Buffer.of(100, 0x02)),
      'the topic': [CONNECT, packet(0x30, uint16(0x7fff), Buffer.from('t'))],
      'a will': [connectWithWill(withExcessLength(correlationData('xx')))],
      'CONNECT itself': [connect('attacker', { properties: withExcessLength(user('xx', 'yy')) })],
      'a client id': [packet(0x10, text('MQTT'), Buffer.of(5, 2, 0, 0, 0), uint16(100))],
      'a filter': [CONNECT, packet(0x82, uint16(1), properties(), uint16(100), Buffer.from('x'))],
      'properties of SUBSCRIBE': [CONNECT, packet(0x82, uint16(1), withExcessLength(user('x', 'y')), binary(EMPTY))],
      'properties of DISCONNECT': [CONNECT, packet(0xe0, Buffer.of(0), variable(200), Buffer.of(0x1f))],
    }
    const scene = await openScene()
    await scene.runAttack(async () => expectEach(scene, PACKETS), TO_THE_END)
  })
})

describe('a will', () => {
  it('that is forbidden affects no other client, even if the clock jumps meanwhile', async () => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      for (const [n, topic] of [INVOKE_TOPIC, '$SYS/x', responseTopicOf('innocent'), 'a/#', ''].entries()) {
        const attacker = await scene.connect(connect(`will-${n}`, { will: { topic, payload: EMPTY } }))
        await scene.store.jump(86_400_000)
        attacker.hangUp()
      }
    }, TO_THE_END)
  })

  it('is published only after its connection ends, even if the system sleeps for a day', async () => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      const reader = await scene.connect('reader')
      await reader.send(subscribe(['last/words']))
      await reader.settled()
      const lastWill = { topic: 'last/words', payload: Buffer.from('farewell') }
      const client = await scene.connect(connect('mortal', { will: lastWill }))
      await scene.store.jump(86_400_000)
      await client.settled()
      await reader.settled()
      const before = reader.received
      client.hangUp()
      while (!reader.last.includes('farewell')) await reader.hears()
      expect(reader.received).toBe(before + publish('last/words', lastWill.payload).length)
    }, TO_THE_END)
  })
})

describe('the broker’s own information', () => {
  it('a subscriber of # or $SYS receives no information about other clients', async () => {
    const scene = await openScene()
    const { url } = scene.store.addresses
    await scene.runAttack(async () => {
      const spy = await TestClient.connect(url, 'spy')
      for (const filter of ['#', '+/#', '$SYS/#', '$SYS/+/+/+', '$share/g/#']) await spy.subscribe(filter)
      const passer = await TestClient.connect(url, 'passer-by')
      await passer.subscribe('secret/filter')
      passer.hangUp()
      await TestClient.connect(url, 'passer-by')
      await spy.until(() => spy.publishes.some(({ topic }) => topic === '$SYS/broker/clients/connected'))
      await spy.settled()
      expect(spy.publishes.map(({ topic, payload }) => `${topic} ${payload}`).join('\n')).not.toMatch(
        /passer-by|innocent|secret/,
      )
    }, TO_THE_END)
  })
})
