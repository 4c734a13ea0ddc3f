import { describe, it } from 'vitest'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import { nightly } from '../../support/effort.js'
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
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const KIB = 1024
const MIB = KIB * KIB

const repeat = (piece: Buffer, bytes: number): Buffer =>
  Buffer.alloc(Math.floor(bytes / piece.length) * piece.length, piece)

const EMPTY = Buffer.alloc(0)
/** A user property that is repeated thousands of times. */
const SAME = repeat(PROPERTY.user('a', ''), 256 * KIB)
const SAME_1_MIB = repeat(PROPERTY.user('a', ''), MIB)
const DIFFERENT = Buffer.concat(Array.from({ length: 30_000 }, (_, n) => PROPERTY.user(`name-${n}`, '')))
const PERSISTENT = properties(PROPERTY.sessionExpiry(60))

/** Connects, sends packets, waits until the store has processed them, and disconnects. */
async function attack(scene: Scene, connectPacket: string | Buffer, ...packets: readonly Buffer[]): Promise<void> {
  const attacker = await scene.connect(connectPacket)
  if (packets.length > 0) await attacker.send(...packets)
  await attacker.settled()
  attacker.hangUp()
}

describe('a packet with thousands of user properties', () => {
  it.each<[name: string, sent: Buffer]>([
    ['PUBLISH with QoS 0', publish('t', EMPTY, { properties: properties(SAME) })],
    ['PUBLISH with QoS 1', publish('t', EMPTY, { qos: 1, properties: properties(SAME_1_MIB) })],
    ['PUBLISH with QoS 2', publish('t', EMPTY, { qos: 2, properties: properties(SAME) })],
    ['request', request('attacker', command('GET key'), 1, SAME)],
    ['request with different names', request('attacker', command('GET key'), 1, DIFFERENT)],
    ['request without a response topic', publish(INVOKE_TOPIC, EMPTY, { qos: 1, properties: properties(SAME) })],
    ['SUBSCRIBE', packet(0x82, uint16(1), properties(SAME), text('t'), Buffer.of(0))],
    ['UNSUBSCRIBE', packet(0xa2, uint16(1), properties(SAME), text('t'))],
    ['DISCONNECT', packet(0xe0, Buffer.of(0), properties(SAME))],
    ['PUBREC', packet(0x50, uint16(1), Buffer.of(0), properties(SAME))],
  ])('a %s with thousands of user properties does not affect other clients', async (_, sent) => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      const reader = await scene.connect('reader')
      await reader.send(subscribe(['t']))
      await attack(scene, 'attacker', sent)
    })
    await scene.expectRecovered()
  })

  it('a CONNECT with thousands of user properties does not affect other clients', async () => {
    const scene = await openScene()
    await scene.runAttack(async () => attack(scene, connect('attacker', { properties: properties(SAME) })))
    await scene.expectRecovered()
  })

  it('a will with thousands of user properties does not affect other clients', async () => {
    const scene = await openScene()
    const will = { topic: 't', payload: EMPTY, properties: properties(SAME) }
    await scene.runAttack(async () => attack(scene, connect('attacker', { will })))
    await scene.expectRecovered()
  })
})

describe('a packet with ten thousand topic filters', () => {
  const filters = Array.from({ length: 10_000 }, (_, n) => `filter/${n}/+/x`)

  it('a SUBSCRIBE with ten thousand filters does not affect other clients', async () => {
    const scene = await openScene()
    await scene.runAttack(async () =>
      attack(scene, connect('attacker', { properties: PERSISTENT }), subscribe(filters)),
    )
  })

  it('an UNSUBSCRIBE with ten thousand filters does not affect other clients', async () => {
    const scene = await openScene()
    const unsubscribe = packet(0xa2, uint16(2), properties(), ...filters.map(text))
    await scene.runAttack(async () =>
      attack(scene, connect('attacker', { properties: PERSISTENT }), subscribe(filters), unsubscribe),
    )
  })
})

describe('long names that differ only at the end', () => {
  const KEYS = nightly(2_600, 800)
  const BATCH = 100
  const longName = (n: number): string => `${'x'.repeat(29_990)}${n}`.padEnd(30_000, '-')

  it('long keys that differ only at the end cost no more than other keys', { timeout: 60_000 }, async () => {
    const scene = await openScene()
    await scene.runAttack(
      async () => {
        const attacker = await scene.connect('attacker')
        for (let n = 0; n < KEYS && !attacker.ended; n += BATCH) {
          const batch = Array.from({ length: BATCH }, (_, at) => [
            request('attacker', command(`SET ${longName(n + at)} v`), 3 * at + 1),
            request('attacker', command(`GET ${longName(n + at)}`), 3 * at + 2),
            request('attacker', resp3(['KEYNOTIFY', longName(n + at)]), 3 * at + 3),
          ])
          await attacker.send(Buffer.concat(batch.flat()))
          await attacker.settled()
        }
        attacker.hangUp()
      },
      // The keys remain in the store, within its limits.
      { maxGrowthBytes: 600 * MIB },
    )
  })

  it('long client ids and topics that differ only at the end cost no more than others', {
    timeout: 60_000,
  }, async () => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      for (let n = 0; n < 200; n++) {
        const name = longName(n)
        const retained = publish(name, Buffer.of(1), { retain: true })
        await attack(scene, connect(name, { properties: PERSISTENT }), subscribe([name]), retained)
      }
    })
  })

  it.each([
    ['filters', ''],
    ['filters of shared subscriptions', '$share/group/'],
  ])(
    'long %s of one client that differ only at the end cost no more than others',
    {
      timeout: 60_000,
    },
    async (_, prefix) => {
      const scene = await openScene()
      const filters = Array.from({ length: 900 }, (_, n) => prefix + longName(n))
      await scene.runAttack(
        async () => {
          const attacker = await scene.connect('attacker')
          for (let round = 0; round < 2; round++) {
            for (let n = 0; n < filters.length; n += BATCH) {
              await attacker.send(subscribe(filters.slice(n, n + BATCH)))
              await attacker.settled()
            }
          }
        },
        { mustComplete: true },
      )
    },
  )
})
