import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { UPGRADE, webSocketFrame } from '../../../harness/web-socket.js'
import { as } from '../../support/backwards.js'
import { nightly } from '../../support/effort.js'
import {
  type ConnectOptions,
  connect,
  PROPERTY,
  properties,
  publish,
  request,
  subscribe,
  variable,
} from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { command, resp3 } from '../../support/words.js'
import { NO_RIGHTS, SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const KIB = 1024
const MIB = 1024 * KIB
const { responseTopic, sessionExpiry, willDelay } = PROPERTY
/** The hub's memory for waiting messages, which is less than the attacker sends at 4 MiB/s. */
const MAX_WAITING_BYTES = nightly(32, 4) * MIB

/** Whether a hub session may join and send to all groups. */
type HubRights = 'all' | 'nothing'

const ATTACKERS: Readonly<Record<string, { readonly policy: string; readonly hubRights: HubRights }>> = {
  'with some rights': { policy: SOME_RIGHTS, hubRights: 'all' },
  'with only the right to connect': { policy: NO_RIGHTS, hubRights: 'nothing' },
}

const connectPacket = (id: string, more: ConnectOptions = {}): Buffer => connect(id, { ...as('mallory'), ...more })
const connectAs = async (scene: Scene, id: string, more?: ConnectOptions): Promise<RawSocket> =>
  scene.connect(connectPacket(id, more))
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)
const runConcurrently = async (count: number, act: (n: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(numbers(count).map(act))
const oneByteFrame = (byte: number): Buffer => webSocketFrame(Buffer.of(byte))

const ATTACKS: Readonly<Record<string, (scene: Scene, hubRights: HubRights) => Promise<unknown>>> = {
  'leaves delayed wills': async scene => {
    const will = { topic: 'mallory/will', payload: Buffer.alloc(60_000), properties: properties(willDelay(3_600)) }
    for (let n = 0; n < nightly(800, 400); n += 100)
      await runConcurrently(100, async at => {
        const client = await connectAs(scene, `mortal-${n + at}`, {
          will,
          properties: properties(sessionExpiry(3_600)),
        })
        client.hangUp()
      })
  },
  'sends incomplete large packets': async scene => {
    const head = Buffer.concat([Buffer.of(0x30), variable(16 * MIB - 5)])
    const body = Buffer.alloc(4 * MIB)
    await runConcurrently(30, async n => (await connectAs(scene, `half-${n}`)).send(head, body))
  },
  'sends WebSocket frames of one byte': async scene => {
    const template = connectPacket('crumbs')
    await runConcurrently(10, async n => {
      const attacker = await scene.open(scene.store.addresses.wsUrl)
      await attacker.send(Buffer.from(UPGRADE))
      await attacker.hears()
      const own = Buffer.from(template)
      own[template.indexOf('crumbs') + 5] = 65 + n
      const large = publish('mallory/t', Buffer.alloc(MIB)).subarray(0, 20)
      for (const byte of [...own, ...large]) await attacker.send(oneByteFrame(byte))
      await attacker.send(Buffer.alloc(7 * 64 * KIB, oneByteFrame(0)))
    })
  },
  'floods with QoS 0': async scene => {
    const reader = await connectAs(scene, 'reader')
    await reader.send(subscribe(['mallory/flood']))
    await reader.settled()
    const message = publish('mallory/flood', Buffer.from('x'))
    await runConcurrently(4, async n => {
      const attacker = await connectAs(scene, `flood-${n}`)
      for (let sent = 0; sent < nightly(6, 3); sent++)
        await attacker.send(Buffer.alloc(5_000 * message.length, message))
    })
  },
  'subscribes to thousands of filters in one packet': async scene => {
    const attacker = await connectAs(scene, 'filters', { properties: properties(sessionExpiry(3_600)) })
    await attacker.send(subscribe(numbers(20_000).map(n => `mallory/+/${n}/#`)))
    await attacker.settled()
  },
  'subscribes to filters that nearly match': async scene => {
    const attacker = await connectAs(scene, 'nearly')
    const deep = 'a/'.repeat(90)
    const wild = numbers(900).map(n => {
      const levels = Array.from(deep.slice(0, -1).split('/'), (level, at) => ((n >> (at % 10)) & 1 ? '+' : level))
      return `mallory/${levels.join('/')}/x`
    })
    for (let at = 0; at < wild.length; at += 100) await attacker.send(subscribe(wild.slice(at, at + 100)))
    await attacker.settled()
    const message = publish(`mallory/${deep}y`, Buffer.of(1))
    await attacker.send(Buffer.alloc(150 * message.length, message))
    await attacker.settled()
  },
  'uses long keys with small differences': async scene => {
    const attacker = await connectAs(scene, 'keys')
    const key = (n: number): string => `mallory/${'k'.repeat(20_000)}${n}${'k'.repeat(1_000)}`
    for (const verb of ['KEYNOTIFY', 'GET', 'SET'])
      for (let n = 1; n <= 300; n++) {
        const words = [verb, key(n), ...(verb === 'SET' ? ['v'] : [])]
        await attacker.send(request('keys', resp3(words), n))
      }
    await attacker.settled()
  },
  'repeats properties': async scene => {
    const twice = properties(responseTopic('mallory/x'), responseTopic('mallory/y'))
    await runConcurrently(50, async n => {
      const attacker = await connectAs(scene, `twice-${n}`)
      await attacker.send(publish('mallory/t', Buffer.alloc(0), { properties: twice }))
      await attacker.closed
    })
    await connectAs(scene, 'thrice', { properties: properties(sessionExpiry(1), sessionExpiry(2)) })
  },
  'subscribes to topics of other clients': async scene => {
    const attacker = await connectAs(scene, 'spy')
    await attacker.send(subscribe(['$SYS/#', '#', '+/#', 'clients/#', '$share/g/#', '$share/g/clients/#']))
    await attacker.send(request('spy', command('SCAN *'), 2))
    await attacker.settled()
    expect(String(attacker.last)).not.toContain('innocent')
  },
  'retains messages without limit': async scene => {
    const attacker = await connectAs(scene, 'retains')
    for (let n = 1; n <= nightly(1_000, 600); n++)
      await attacker.send(publish(`mallory/${n}`, Buffer.alloc(64 * KIB), { retain: true, qos: 1, id: n }))
    await attacker.settled()
  },
  'leaves QoS 2 messages unreleased': async scene => {
    await runConcurrently(4, async index => {
      const attacker = await connectAs(scene, `half-${index}`, { properties: properties(sessionExpiry(3_600)) })
      for (let n = 1; n <= nightly(300, 200) && !attacker.ended; n++)
        await attacker.send(publish('mallory/halfway', Buffer.alloc(64 * KIB), { qos: 2, id: n }))
      await attacker.settled()
    })
  },
  'has many hub sessions with queued messages': async ({ store }, hubRights) => {
    const open = async (): Promise<WebSocket> => {
      const url = `${store.addresses.hub}/client/hubs/h?user=mallory&may=${hubRights}`
      const socket = new WebSocket(url, 'json.reliable.webpubsub.azure.v1')
      socket.on('error', () => undefined)
      await new Promise(resolve => socket.once('message', resolve))
      return socket
    }
    const members = await Promise.all(numbers(nightly(150, 60)).map(open))
    for (const [n, member] of members.entries()) {
      member.send(JSON.stringify({ type: 'joinGroup', group: `g${n}`, ackId: 1 }))
      member.pause()
    }
    const sender = await open()
    const data = 'x'.repeat(60 * KIB)
    for (let round = 0; round < nightly(8, 3); round++)
      for (const n of members.keys())
        sender.send(
          JSON.stringify({ type: 'sendToGroup', group: `g${n}`, dataType: 'text', data, ackId: 1_000 * round + n }),
        )
    sender.send(JSON.stringify({ type: 'sendToGroup', group: 'last', dataType: 'text', data: '', ackId: 99_999 }))
    await new Promise<void>(resolve => {
      sender.on('message', text => String(text).includes('99999') && resolve())
      sender.once('close', () => resolve())
    })
    const waitingBytes = (await store.hubStats())?.waitingBytes ?? 0
    expect(waitingBytes).toBeLessThanOrEqual(MAX_WAITING_BYTES)
    expect(waitingBytes > MAX_WAITING_BYTES / 2).toBe(hubRights === 'all')
    for (const socket of [...members, sender]) socket.terminate()
  },
  'occupies the console': async scene =>
    runConcurrently(300, async () => {
      const attacker = await scene.open(scene.store.addresses.console)
      await attacker.send(Buffer.from('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '))
      await attacker.send(Buffer.from('x'))
    }),
}

describe('an attacker', () => {
  it.each(Object.entries(ATTACKERS))(
    '%s that combines all known attacks does not affect other clients',
    { timeout: 60_000 },
    async (_, { policy, hubRights }) => {
      const scene = await openScene({
        policy,
        maxBytes: 32 * MIB,
        maxBufferedBytes: 64 * MIB,
        hub: { maxWaitingBytes: MAX_WAITING_BYTES },
        console: true,
      })
      await scene.runAttack(
        async () => {
          for (const [name, attack] of Object.entries(ATTACKS)) {
            const began = performance.now()
            await attack(scene, hubRights)
            if (process.env['FIGURES']) console.info(`${name}: ${(performance.now() - began).toFixed(0)} ms`)
            expect([name, scene.store.exitStatus]).toEqual([name, 'running'])
          }
        },
        { mustComplete: true, maxGrowthBytes: 384 * MIB, maxHeldBytes: 128 * MIB },
      )
    },
  )
})
