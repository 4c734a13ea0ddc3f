import { describe, it } from 'vitest'
import { as } from '../../support/backwards.js'
import { nightly } from '../../support/effort.js'
import { connect, disconnect, PROPERTY, properties, publish, request, subscribe } from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'
import { SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

/** The duration of a flood, in ms. */
const FLOOD_MS = nightly(2_500, 1_000)
const MIB = 1024 * 1024

/** Repeats a packet as fast as the broker accepts it. */
async function flood(attackers: readonly RawSocket[], piece: Buffer): Promise<void> {
  const end = performance.now() + FLOOD_MS
  await Promise.all(
    attackers.map(async attacker => {
      while (performance.now() < end && !attacker.ended) await attacker.send(piece)
      attacker.hangUp()
    }),
  )
}

const connectAttackers = async (scene: Scene, count: number): Promise<RawSocket[]> =>
  Promise.all(Array.from({ length: count }, async (_, n) => scene.connect(`attacker-${n}`)))

describe('an attacker that sends as fast as it can', () => {
  it('four connections flooding QoS 0 messages do not slow down other clients', async () => {
    const scene = await openScene()
    const message = publish('flood', Buffer.from('x'))
    await scene.runAttack(async () => {
      const reader = await scene.connect('reader')
      await reader.send(subscribe(['flood']))
      await reader.settled()
      await flood(await connectAttackers(scene, 4), Buffer.alloc(message.length * 5_000, message))
    })
    await scene.expectRecovered()
  })

  it('subscriptions that search all retained messages do not slow down other clients', async () => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      const [attacker] = await connectAttackers(scene, 1)
      for (let n = 0; n < 50_000; n += 1_000) {
        const batch = Array.from({ length: 1_000 }, (_, at) =>
          publish(`r${n + at}`, Buffer.from('x'), { retain: true }),
        )
        await attacker?.send(Buffer.concat(batch))
        await attacker?.settled()
      }
      await attacker?.send(subscribe(Array.from({ length: 300 }, (_, n) => `+/${n}`)))
      await attacker?.settled()
    })
    await scene.expectRecovered()
  })

  it('a flood of scans that find nothing does not slow down other clients', async () => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      const writer = await scene.connect('writer')
      for (let n = 0; n < 10_000; n += 500) {
        const batch = Array.from({ length: 500 }, (_, at) =>
          request('writer', command(`SET ${'a'.repeat(300)}${n + at} v`), at + 1),
        )
        await writer.send(Buffer.concat(batch))
        await writer.settled()
      }
      const scan = (id: number): Buffer => request('attacker-0', command(`SCAN ${'*a'.repeat(100)}b`), id)
      const attackers = await connectAttackers(scene, 2)
      await Promise.all(
        attackers.map(async attacker => {
          await attacker.send(Buffer.concat(Array.from({ length: 300 }, (_, at) => scan(at + 1))))
        }),
      )
    })
  })

  it('ten thousand slow globs and nearly matching keys do not slow down other clients', async () => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      const attackers = await connectAttackers(scene, 2)
      for (const [n, attacker] of attackers.entries()) {
        const slow = (id: number): string => `${'*a'.repeat(1 + (id % 50))}${n}${id}`
        for (let id = 1; id <= 5_000; id += 500) {
          const batch = Array.from({ length: 500 }, (_, at) =>
            request(`attacker-${n}`, command(`GLOBNOTIFY ${slow(id + at)}`), at + 1),
          )
          await attacker.send(Buffer.concat(batch))
          await attacker.settled()
        }
      }
      // Every byte can reach every position of the globs, so that a backtracking matcher would never finish.
      const write = (n: number, id: number): Buffer =>
        request(`attacker-${n}`, command(`SET ${'a'.repeat(2_000)}${id} v`), id)
      await Promise.all(
        attackers.map(async (attacker, n) => {
          await attacker.send(Buffer.concat(Array.from({ length: 300 }, (_, at) => write(n, at + 1))))
          await attacker.settled()
        }),
      )
    })
  })

  it('thousands of globs of one user slow down nobody and end with their connection', async () => {
    const scene = await openScene({ policy: SOME_RIGHTS })
    await scene.runAttack(
      async () => {
        const attacker = await scene.connect(connect('mallory', as('mallory')))
        const watch = (n: number): Buffer => request('mallory', command(`GLOBNOTIFY mallory/k${n}-*`), (n % 60_000) + 1)
        await attacker.send(subscribe([responseTopicOf('mallory')], 1, 1))
        for (let n = 0; n < 5_000; n += 500) {
          await attacker.send(Buffer.concat(Array.from({ length: 500 }, (_, at) => watch(n + at))))
          await attacker.settled()
        }
      },
      { mustComplete: true, maxRoundMs: 300 },
    )
  })

  it.each<[string, (attacker: RawSocket) => void]>([
    ['disconnects', attacker => void attacker.send(disconnect())],
    ['closes its side', attacker => attacker.socket.end()],
  ])('an attacker whose work is still queued when it %s does not slow down other clients', async (_, leave) => {
    const scene = await openScene()
    await scene.runAttack(async () => {
      const writer = await scene.connect('writer')
      const batch = Array.from({ length: 2_000 }, (_, at) =>
        request('writer', command(`SET ${'a'.repeat(300)}${at} v`), at + 1),
      )
      await writer.send(Buffer.concat(batch))
      await writer.settled()
      const attacker = await scene.connect(connect('slow', { properties: properties(PROPERTY.receiveMaximum(1)) }))
      const get = (id: number): Buffer => request('slow', command('GET x'), id)
      const scan = (id: number): Buffer => request('slow', command(`SCAN ${'*a'.repeat(50)}b`), id)
      await attacker.send(subscribe([responseTopicOf('slow')], 1, 1))
      await attacker.send(Buffer.concat(Array.from({ length: 9_000 }, (_, at) => get(at + 1))))
      await attacker.send(Buffer.concat(Array.from({ length: 300 }, (_, at) => scan(at + 1))))
      await attacker.settled()
      leave(attacker)
      await attacker.closed
    })
  })

  it('a flood of useless packets, acknowledgements and pings slows down nobody', async () => {
    const scene = await openScene()
    const nonsense = Buffer.concat([Buffer.of(0xc0, 0), Buffer.of(0x40, 2, 0x12, 0x34), Buffer.of(0x70, 2, 0x12, 0x34)])
    await scene.runAttack(async () =>
      flood(await connectAttackers(scene, 4), Buffer.alloc(nonsense.length * 5_000, nonsense)),
    )
  })
})

describe('an attacker with as many subscriptions as permitted', () => {
  it('a thousand filters that nearly match own messages do not slow down other clients', async () => {
    const scene = await openScene()
    const id = 'attacker-0'
    const deep = `/${'a/'.repeat(100)}`
    const filters = Array.from({ length: 999 }, (_, n) => {
      const wild = Array.from(deep.slice(1, -1).split('/'), (level, at) => ((n >> (at % 10)) & 1 ? '+' : level))
      return `clients/${id}/services/statestore/${wild.join('/')}/x`
    })
    await scene.runAttack(async () => {
      const [attacker] = await connectAttackers(scene, 1)
      if (attacker === undefined) return
      for (let at = 0; at < filters.length; at += 100) await attacker.send(subscribe(filters.slice(at, at + 100)))
      await attacker.settled()
      const own = properties(
        PROPERTY.responseTopic(responseTopicOf(id).replace('/_any_', deep)),
        PROPERTY.correlationData('x'),
      )
      const get = (n: number): Buffer =>
        publish('statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke', command('GET x'), {
          qos: 1,
          id: n,
          properties: own,
        })
      const batch = Buffer.concat(Array.from({ length: 1_000 }, (_, n) => get(n + 1)))
      for (let n = 0; n < 10; n++) await attacker.send(batch)
      await attacker.settled()
    })
  })

  it('many clients of a thousand wildcard filters each do not slow down other clients', async () => {
    const scene = await openScene()
    await scene.runAttack(
      async () => {
        const attackers = await connectAttackers(scene, nightly(100, 30))
        await Promise.all(
          attackers.map(async (attacker, index) => {
            for (let at = 0; at < 1_000; at += 250) {
              await attacker.send(subscribe(Array.from({ length: 250 }, (_, n) => `+/${index}/+/${at + n}/#`)))
            }
            await attacker.settled()
          }),
        )
        const [publisher] = attackers
        await publisher?.send(...Array.from({ length: 100 }, (_, n) => publish(`a/${n}/b/${n}/c/d`, Buffer.of(1))))
        await publisher?.settled()
        for (const attacker of attackers) attacker.hangUp()
      },
      { maxGrowthBytes: 384 * MIB },
    )
    await scene.expectRecovered()
  })
})
