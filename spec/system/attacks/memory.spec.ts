import { describe, expect, it } from 'vitest'
import { nightly } from '../../support/effort.js'
import { connect, PROPERTY, properties, publish, request, subscribe, variable } from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { resp3 } from '../../support/words.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const KIB = 1024
const MIB = 1024 * KIB
/** Memory limit under attack. */
const ROOM = nightly(64, 16) * MIB
/** Exceeds that limit but not the heap: the store must reject it and not crash. */
const MUCH = nightly(400, 100) * MIB
const SMALL = { maxBufferedBytes: ROOM }
/** The limit plus caches, pools and code. */
const HELD = { held: SMALL.maxBufferedBytes + 32 * MIB }
const PAYLOAD = Buffer.alloc(64 * KIB, 'x')

/** Sends packets one after the other until a number of bytes is sent or the connection has ended. */
async function pour(attacker: RawSocket, bytes: number, next: (n: number) => Buffer): Promise<void> {
  for (let [sent, n] = [0, 1]; sent < bytes && !attacker.ended; n++) {
    const piece = next(n)
    sent += piece.length
    await attacker.send(piece)
    if (n % 64 === 0) await attacker.settled()
  }
}

describe('Unbounded storage', () => {
  it('is prevented for values: a full store rejects them and accepts more after a deletion', {
    timeout: 60_000,
  }, async () => {
    const scene = await openScene({ maxBytes: ROOM })
    const value = String(PAYLOAD)
    await scene.under(
      async () => {
        const attacker = await scene.connect('attacker')
        await pour(attacker, 2 * ROOM, n => request('attacker', resp3(['SET', `key/${n}`, value]), (n % 60_000) + 1))
        const { keys } = await scene.store.stats()
        expect(keys).toBeGreaterThan((0.9 * ROOM) / PAYLOAD.length)
        expect(keys).toBeLessThan(ROOM / PAYLOAD.length)
        await attacker.settled()
        for (let n = 1; n <= keys; n++) await attacker.send(request('attacker', resp3(['DEL', `key/${n}`]), n))
        await attacker.settled()
        expect(await scene.store.stats()).toMatchObject({ keys: 1 })
      },
      { toTheEnd: true, longestAttack: 30_000 },
    )
    await scene.expectRecovered()
  })

  it('is prevented for watched keys, which end with their connection', async () => {
    const scene = await openScene({ maxBytes: ROOM })
    const key = 'k'.repeat(20_000)
    await scene.under(async () => {
      const attacker = await scene.connect('attacker')
      await pour(attacker, MUCH / 4, n => request('attacker', resp3(['KEYNOTIFY', `${key}${n}`]), (n % 60_000) + 1))
    })
    await scene.expectRecovered()
  })

  it('is prevented for retained messages', async () => {
    const scene = await openScene(SMALL)
    await scene.under(async () => {
      const attacker = await scene.connect('attacker')
      const message = (n: number): Buffer =>
        publish(`retained/${n}`, PAYLOAD, { retain: true, qos: 1, id: (n % 60_000) + 1 })
      await pour(attacker, MUCH, message)
    }, HELD)
  })

  it('is prevented for unreleased QoS 2 messages', async () => {
    const scene = await openScene(SMALL)
    await scene.under(async () => {
      const session = { properties: properties(PROPERTY.sessionExpiry(3_600)) }
      for (let who = 0; who < 4; who++) {
        const attacker = await scene.connect(connect(`attacker-${who}`, session))
        await pour(attacker, MUCH / 4, n => publish('halfway', PAYLOAD, { qos: 2, id: (n % 60_000) + 1 }))
      }
    }, HELD)
  })

  it('is prevented for messages queued for offline clients', async () => {
    const scene = await openScene(SMALL)
    await scene.under(async () => {
      const session = { properties: properties(PROPERTY.sessionExpiry(3_600)) }
      for (let who = 0; who < 100; who++) {
        const sleeper = await scene.connect(connect(`sleeper-${who}`, session))
        await sleeper.send(subscribe([`away/${who}`], 1, 1))
        await sleeper.settled()
        sleeper.hangUp()
      }
      const attacker = await scene.connect('attacker')
      await pour(attacker, MUCH, n => publish(`away/${n % 100}`, PAYLOAD, { qos: 1, id: (n % 60_000) + 1 }))
    }, HELD)
  })

  it('is prevented for wills with a delay of a day', async () => {
    const scene = await openScene(SMALL)
    await scene.under(async () => {
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
    }, HELD)
  })

  it('is prevented for sessions of MQTT 3.1.1, which have no expiry', async () => {
    const scene = await openScene(SMALL)
    const filters = Array.from({ length: 10 }, (_, n) => `${'f'.repeat(1_000)}/${n}`)
    const plain = Buffer.concat(
      filters.map(filter =>
        Buffer.concat([Buffer.of(filter.length >> 8, filter.length & 255), Buffer.from(filter), Buffer.of(1)]),
      ),
    )
    const subscription = Buffer.concat([Buffer.of(0x82), variable(plain.length + 2), Buffer.of(0, 1), plain])
    await scene.under(async () => {
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
    }, HELD)
  })
})
