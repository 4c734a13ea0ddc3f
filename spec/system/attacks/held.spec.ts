import { describe, expect, it } from 'vitest'
import { UPGRADE } from '../../../harness/web-socket.js'
import { as } from '../../support/backwards.js'
import {
  type ConnectOptions,
  connect,
  PROPERTY,
  properties,
  publish,
  subscribe,
  variable,
} from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const KIB = 1024
const MIB = 1024 * KIB
const BOUNDS = { maxBufferedBytes: 64 * MIB }
/** The number of offline sessions, each with enough queued data to be worth evicting. */
const OFFLINE_SESSIONS = 20
const MESSAGES = 10
const PAYLOAD = Buffer.alloc(10 * KIB, 'x')
const PERSISTENT = properties(PROPERTY.sessionExpiry(3_600))
const TO_THE_END = { mustComplete: true }
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)
const topic = (n: number): string => `mallory/away/${n}`
const MALLORY: ConnectOptions = as('mallory')
const INNOCENT: ConnectOptions = as('innocent')

/** Creates many offline sessions of an innocent user, each with a queued message. */
async function createOfflineSessions(scene: Scene): Promise<void> {
  for (const n of numbers(OFFLINE_SESSIONS)) {
    const client = await scene.connect(connect(`sleeper-${n}`, { ...INNOCENT, properties: PERSISTENT }))
    await client.send(subscribe([topic(n)], 1, 1))
    await client.settled()
    client.hangUp()
  }
}

/** Queues another message for each session. */
async function write(writer: RawSocket): Promise<void> {
  for (const n of numbers(OFFLINE_SESSIONS)) await writer.send(publish(topic(n), PAYLOAD, { qos: 1, id: n + 1 }))
  await writer.settled()
}

/** Checks that every session is resumed with all its messages. */
async function expectResumed(scene: Scene, messages: number): Promise<void> {
  const lost: number[] = []
  for (const n of numbers(OFFLINE_SESSIONS)) {
    const client = await scene.connect(
      connect(`sleeper-${n}`, { ...INNOCENT, clean: false, properties: properties(PROPERTY.sessionExpiry(3_600)) }),
    )
    await client.settled()
    if (client.received < messages * PAYLOAD.length) lost.push(n)
    client.hangUp()
  }
  expect(lost, 'sleepers').toEqual([])
}

/** Attacks that are each repeated until enough data was sent, whether or not the store accepts it. */
const ATTACKS: Readonly<Record<string, (scene: Scene, n: number) => Promise<unknown>>> = {
  'a CONNECT of unauthenticated clients': async scene => {
    const attacker = await scene.open()
    await attacker.send(Buffer.concat([Buffer.of(0x10), variable(16 * MIB - 5)]), Buffer.alloc(7 * MIB))
  },
  'a PUBLISH of an authenticated client': async (scene, n) => {
    const attacker = await scene.connect(connect(`half-${n}`, MALLORY))
    await attacker.send(Buffer.concat([Buffer.of(0x30), variable(16 * MIB - 5)]), Buffer.alloc(7 * MIB))
  },
  'a WebSocket frame': async scene => {
    const attacker = await scene.open(scene.store.addresses.wsUrl)
    await attacker.send(Buffer.from(UPGRADE))
    await attacker.hears()
    // A frame of 16 MiB with a zero mask.
    const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    await attacker.send(head, Buffer.alloc(7 * MIB))
  },
  'a large CONNECT': async (scene, n) => {
    const user = PROPERTY.user('x', 'x'.repeat(60_000))
    const own = properties(user, user, user, user)
    for (const at of numbers(8)) await scene.connect(connect(`talker-${n}-${at}`, { ...MALLORY, properties: own }))
  },
  'aliases for long topics': async (scene, n) => {
    for (const at of numbers(4)) {
      const attacker = await scene.connect(connect(`alias-${n}-${at}`, MALLORY))
      for (const alias of numbers(16)) {
        const own = properties(PROPERTY.topicAlias(alias + 1))
        await attacker.send(publish(`mallory/${'x'.repeat(60_000)}${alias}`, Buffer.alloc(0), { properties: own }))
      }
      await attacker.settled()
    }
  },
  'long filters': async (scene, n) => {
    const attacker = await scene.connect(connect(`filters-${n}`, { ...MALLORY, properties: PERSISTENT }))
    for (const at of numbers(50)) await attacker.send(subscribe([`mallory/${'x'.repeat(60_000)}${at}`], at + 1))
    await attacker.settled()
  },
}

describe('memory held by an attacker', () => {
  it.each(Object.entries(ATTACKS))(
    'as %s does not evict sessions of offline clients',
    { timeout: 60_000 },
    async (_, attack) => {
      const scene = await openScene({ ...BOUNDS, policy: SOME_RIGHTS })
      await scene.runAttack(async () => {
        await createOfflineSessions(scene)
        const writer = await scene.connect(connect('writer', MALLORY))
        let written = 0
        for (; written < MESSAGES; written++) await write(writer)
        for (let n = 0; n < 16; n++) {
          await attack(scene, n).catch(() => undefined)
          await write(writer)
          written++
        }
        await expectResumed(scene, written)
      }, TO_THE_END)
    },
  )
})
