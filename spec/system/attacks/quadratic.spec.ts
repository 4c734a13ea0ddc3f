import { describe, it } from 'vitest'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import { effort } from '../../support/effort.js'
import {
  connect,
  PROPERTY,
  packet,
  properties,
  publish,
  request,
  subscribe,
  text,
  uint16,
} from '../../support/packets.js'
import { command, resp3 } from '../../support/words.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const repeat = (piece: Buffer, bytes: number): Buffer =>
  Buffer.alloc(Math.floor(bytes / piece.length) * piece.length, piece)

const KIB = 1024

describe('One packet that costs more than its bytes', () => {
  const name = repeat(PROPERTY.user('a', ''), 256 * KIB)
  const names = Buffer.concat(Array.from({ length: 30_000 }, (_, n) => PROPERTY.user(`name-${n}`, '')))
  const empty = Buffer.alloc(0)
  const PACKETS: Record<string, readonly Buffer[]> = {
    'PUBLISH with QoS 0': [publish('t', empty, { properties: properties(name) })],
    'PUBLISH with QoS 1': [publish('t', empty, { qos: 1, properties: properties(repeat(name, KIB * KIB)) })],
    'PUBLISH with QoS 2': [publish('t', empty, { qos: 2, properties: properties(name) })],
    'a request': [request('attacker', command('GET key'), 1, name)],
    'a request with 30,000 names': [request('attacker', command('GET key'), 1, names)],
    'a request without a response topic': [publish(INVOKE_TOPIC, empty, { qos: 1, properties: properties(name) })],
    SUBSCRIBE: [packet(0x82, uint16(1), properties(name), text('t'), Buffer.of(0))],
    UNSUBSCRIBE: [packet(0xa2, uint16(1), properties(name), text('t'))],
    DISCONNECT: [packet(0xe0, Buffer.of(0), properties(name))],
    PUBREC: [packet(0x50, uint16(1), Buffer.of(0), properties(name))],
  }

  it('by a user property thousands of times, in any packet', async () => {
    const scene = await openScene()
    await scene.under(async () => {
      const reader = await scene.connect('reader')
      await reader.send(subscribe(['t']))
      for (const packets of Object.values(PACKETS)) {
        const attacker = await scene.connect('attacker')
        await attacker.send(...packets)
        await attacker.settled()
        attacker.hangUp()
      }
      const own = { properties: properties(name) }
      const will = { topic: 't', payload: empty, ...own }
      for (const greeting of [connect('attacker', own), connect('attacker', { will })]) {
        const attacker = await scene.connect(greeting)
        await attacker.settled()
        attacker.hangUp()
      }
    })
    await scene.expectRecovered()
  })

  it('by ten thousand filters, and by as many that go', async () => {
    const scene = await openScene()
    const filters = Array.from({ length: 10_000 }, (_, n) => `filter/${n}/+/x`)
    const unsubscribe = packet(0xa2, uint16(2), properties(), ...filters.map(text))
    await scene.under(async () => {
      const own = properties(PROPERTY.sessionExpiry(60))
      for (const [n, again] of [[subscribe(filters)], [subscribe(filters), unsubscribe]].entries()) {
        const attacker = await scene.connect(connect(`attacker-${n}`, { properties: own }))
        await attacker.send(...again)
        await attacker.settled()
        attacker.hangUp()
      }
    })
  })
})

describe('Keys that only their length tells apart from others', () => {
  const KEYS = effort(2_600, 800)
  const key = (n: number): string => `${'x'.repeat(29_990)}${n}`.padEnd(30_000, '-')
  const BATCH = 100

  it('cost what others cost: to write, to read, to watch, and to forget', async () => {
    const scene = await openScene()
    await scene.under(
      async () => {
        const attacker = await scene.connect('attacker')
        for (let n = 0; n < KEYS && !attacker.ended; n += BATCH) {
          const batch = Array.from({ length: BATCH }, (_, at) => [
            request('attacker', command(`SET ${key(n + at)} v`), 3 * at + 1),
            request('attacker', command(`GET ${key(n + at)}`), 3 * at + 2),
            request('attacker', resp3(['KEYNOTIFY', key(n + at)]), 3 * at + 3),
          ])
          await attacker.send(Buffer.concat(batch.flat()))
          await attacker.settled()
        }
        attacker.hangUp()
      },
      // The keys remain; they are within the bounds of the store.
      { growth: 600 * KIB * KIB },
    )
  }, 60_000)

  it('and so do client ids and topics', async () => {
    const scene = await openScene()
    await scene.under(async () => {
      const own = properties(PROPERTY.sessionExpiry(60))
      for (let n = 0; n < 200; n++) {
        const id = key(n)
        const attacker = await scene.connect(connect(id, { properties: own }))
        await attacker.send(subscribe([key(n)]), publish(key(n), Buffer.of(1), { retain: true }))
        await attacker.settled()
        attacker.hangUp()
      }
    })
  }, 60_000)
})
