import { describe, expect, it } from 'vitest'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import { nightly } from '../../support/effort.js'
import { connect, PROPERTY, properties, publish, request, subscribe, variable } from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { command, resp3 } from '../../support/words.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const KIB = 1024
const MIB = 1024 * KIB
/** The memory limit under attack, in bytes. */
const MEMORY_LIMIT = nightly(64, 16) * MIB
/**
 * The bytes sent in an attack. They exceed the memory limit but not the heap, so that the store must reject them and
 * not crash.
 */
const ATTACK_BYTES = nightly(400, 100) * MIB
const LIMITS = { maxBufferedBytes: MEMORY_LIMIT }
/** The limit plus caches, pools and code. */
const BOUNDS = { maxHeldBytes: LIMITS.maxBufferedBytes + 32 * MIB }
const PAYLOAD = Buffer.alloc(64 * KIB, 'x')

/** Sends packets one after the other until `bytes` bytes are sent or the connection has ended. */
async function sendUpTo(attacker: RawSocket, bytes: number, next: (n: number) => Buffer): Promise<void> {
  for (let [sent, n] = [0, 1]; sent < bytes && !attacker.ended; n++) {
    const piece = next(n)
    sent += piece.length
    await attacker.send(piece)
    if (n % 64 === 0) await attacker.settled()
  }
}

describe('memory limits of a store', () => {
  it('a full store rejects values and accepts more after a deletion', {
    timeout: 60_000,
  }, async () => {
    const scene = await openScene({ maxBytes: MEMORY_LIMIT })
    const value = String(PAYLOAD)
    await scene.runAttack(
      async () => {
        const attacker = await scene.connect('attacker')
        await sendUpTo(attacker, 2 * MEMORY_LIMIT, n =>
          request('attacker', resp3(['SET', `key/${n}`, value]), (n % 60_000) + 1),
        )
        const { keys } = await scene.store.stats()
        expect(keys).toBeGreaterThan((0.9 * MEMORY_LIMIT) / PAYLOAD.length)
        expect(keys).toBeLessThan(MEMORY_LIMIT / PAYLOAD.length)
        await attacker.settled()
        for (let n = 1; n <= keys; n++) await attacker.send(request('attacker', resp3(['DEL', `key/${n}`]), n))
        await attacker.settled()
        expect(await scene.store.stats()).toMatchObject({ keys: 1 })
      },
      { mustComplete: true },
    )
    await scene.expectRecovered()
  })

  it('the store limits watched keys, which end with their connection', async () => {
    const scene = await openScene({ maxBytes: MEMORY_LIMIT })
    const key = 'k'.repeat(20_000)
    await scene.runAttack(async () => {
      const attacker = await scene.connect('attacker')
      await sendUpTo(attacker, ATTACK_BYTES / 4, n =>
        request('attacker', resp3(['KEYNOTIFY', `${key}${n}`]), (n % 60_000) + 1),
      )
    })
    await scene.expectRecovered()
  })

  it('the store limits retained messages', async () => {
    const scene = await openScene(LIMITS)
    await scene.runAttack(async () => {
      const attacker = await scene.connect('attacker')
      const message = (n: number): Buffer =>
        publish(`retained/${n}`, PAYLOAD, { retain: true, qos: 1, id: (n % 60_000) + 1 })
      await sendUpTo(attacker, ATTACK_BYTES, message)
    }, BOUNDS)
  })

  it('the store limits unreleased QoS 2 messages', async () => {
    const scene = await openScene(LIMITS)
    await scene.runAttack(async () => {
      const session = { properties: properties(PROPERTY.sessionExpiry(3_600)) }
      for (let index = 0; index < 4; index++) {
        const attacker = await scene.connect(connect(`attacker-${index}`, session))
        await sendUpTo(attacker, ATTACK_BYTES / 4, n => publish('halfway', PAYLOAD, { qos: 2, id: (n % 60_000) + 1 }))
      }
    }, BOUNDS)
  })

  it('the store limits messages queued for offline clients', async () => {
    const scene = await openScene(LIMITS)
    await scene.runAttack(async () => {
      const session = { properties: properties(PROPERTY.sessionExpiry(3_600)) }
      for (let index = 0; index < 100; index++) {
        const sleeper = await scene.connect(connect(`sleeper-${index}`, session))
        await sleeper.send(subscribe([`away/${index}`], 1, 1))
        await sleeper.settled()
        sleeper.hangUp()
      }
      const attacker = await scene.connect('attacker')
      await sendUpTo(attacker, ATTACK_BYTES, n => publish(`away/${n % 100}`, PAYLOAD, { qos: 1, id: (n % 60_000) + 1 }))
    }, BOUNDS)
  })

  it('the store limits wills with a delay of a day', async () => {
    const scene = await openScene(LIMITS)
    await scene.runAttack(async () => {
      const will = {
        topic: 'last/words',
        payload: PAYLOAD.subarray(0, 60_000),
        properties: properties(PROPERTY.willDelay(86_400)),
      }
      const own = properties(PROPERTY.sessionExpiry(86_400))
      for (let n = 0; n < nightly(6_000, 1_500); n += 100) {
        await Promise.all(
          Array.from({ length: 100 }, async (_, at) => {
            const attacker = await scene.connect(connect(`mortal-${n + at}`, { will, properties: own }))
            attacker.hangUp()
          }),
        )
      }
    }, BOUNDS)
  })

  it('sessions keep no long response topics', async () => {
    const scene = await openScene(LIMITS)
    await scene.runAttack(
      async () => {
        for (let n = 0; n < 1_000; n++) {
          const attacker = await scene.connect(
            connect(`sleeper-${n}`, { properties: properties(PROPERTY.sessionExpiry(3_600)) }),
          )
          const topic = PROPERTY.responseTopic(`${n}/`.padEnd(60_000, 'x'))
          const own = properties(topic, PROPERTY.correlationData(Buffer.of(1)))
          await attacker.send(publish(INVOKE_TOPIC, command('GET key'), { qos: 1, id: 1, properties: own }))
          await attacker.settled()
          attacker.hangUp()
        }
      },
      { maxHeldBytes: 32 * MIB, mustComplete: true },
    )
  })

  it('the store limits sessions of MQTT 3.1.1, which have no expiry', async () => {
    const scene = await openScene(LIMITS)
    const filters = Array.from({ length: 10 }, (_, n) => `${'f'.repeat(1_000)}/${n}`)
    const plain = Buffer.concat(
      filters.map(filter =>
        Buffer.concat([Buffer.of(filter.length >> 8, filter.length & 255), Buffer.from(filter), Buffer.of(1)]),
      ),
    )
    const subscription = Buffer.concat([Buffer.of(0x82), variable(plain.length + 2), Buffer.of(0, 1), plain])
    await scene.runAttack(async () => {
      for (let n = 0; n < nightly(20_000, 5_000); n += 100) {
        await Promise.all(
          Array.from({ length: 100 }, async (_, at) => {
            const greeting = connect(`old-${n + at}`, { version: 4, clean: false })
            const attacker = await scene.connect(greeting)
            await attacker.send(subscription)
            await attacker.settled()
            attacker.hangUp()
          }),
        )
      }
    }, BOUNDS)
  })
})
