import { connect, PROPERTY, properties, publish, subscribe } from '../../harness/packets.js'
import type { ServerSettings } from '../process/protocol.js'
import { command, request } from './resp3.js'
import type { Scene } from './scene.js'

/** What one principal may hold at the server when an attack begins. */
export type StateName = keyof typeof STATES

export interface State {
  readonly settings: ServerSettings
  /** Fills the quota. */
  fill(scene: Scene): Promise<void>
}

export const USER = 'mallory'
/** Numbers that hide no cost: rates have no limit, because the sweep measures what they would delay. */
const FAST = { maxPacketRatePerPrincipal: 10_000_000, maxByteRatePerPrincipal: 2 ** 40, sysInterval: 0 } as const
const MIB = 1024 * 1024
const BATCH = 500
const PERSISTENT = properties(PROPERTY.sessionExpiry(3_600))
/** The greatest depth of a topic below the broker's limit of 100 levels. */
const DEEP = 'a/'.repeat(96)

/** Encodes a CONNECT of the principal. */
export const login = (clientId: string, options: Parameters<typeof connect>[1] = {}): Buffer =>
  connect(clientId, { username: USER, password: 'x', ...options })

const numbers = (count: number): readonly number[] => Array.from({ length: Math.ceil(count) }, (_, n) => n)

/** Sends frames in batches, and waits for the broker after each. */
async function sendAll(scene: Scene, count: number, frame: (n: number) => Buffer, clientId = 'filler'): Promise<void> {
  const filler = await scene.connect(login(clientId))
  for (let from = 0; from < count; from += BATCH) {
    await filler.send(Buffer.concat(numbers(Math.min(BATCH, count - from)).map(n => frame(from + n))))
    await filler.settled()
  }
}

/** Connects clients that subscribe to a filter each, and that stay or disconnect. */
async function connectAll(
  scene: Scene,
  count: number,
  packet: (n: number) => Buffer,
  filter: (n: number) => string,
  isStaying = false,
): Promise<void> {
  for (let from = 0; from < count; from += 50)
    await Promise.all(
      numbers(Math.min(50, count - from)).map(async at => {
        const client = await scene.connect(packet(from + at))
        await client.send(subscribe([filter(from + at)], 1, 1))
        await client.settled()
        if (!isStaying) client.hangUp()
      }),
    )
}

const setKey =
  (key: string, ...more: readonly string[]) =>
  (id: number): Buffer =>
    request('filler', command('SET', key, 'v', ...more), id)

/**
 * Message sizes that fill a quota of 8 MiB almost to the last byte. Each message goes to a session of its own, which
 * ends if the message does not fit.
 */
const FILLINGS = [...numbers(14).map(n => (4 * MIB) / 2 ** n), ...numbers(20).map(() => 0)]

export const STATES = {
  empty: { settings: { store: FAST, hasHub: true }, fill: async () => undefined },
  'subscriptions that nearly match': {
    settings: { store: FAST },
    fill: async scene => {
      for (const client of numbers(20)) {
        const subscriber = await scene.connect(login(`subscriber-${client}`, { properties: PERSISTENT }))
        const filters = numbers(900).map(n => {
          const levels = DEEP.split('/').map((level, at) => ((n >> (at % 10)) & 1 ? '+' : level))
          return `t/${levels.join('/')}${client}`
        })
        for (let at = 0; at < filters.length; at += 100) await subscriber.send(subscribe(filters.slice(at, at + 100)))
        await subscriber.settled()
      }
    },
  },
  'retained messages on deep topics': {
    settings: { store: FAST },
    fill: scene => sendAll(scene, 10_000, n => publish(`r${n}/${DEEP}z`, 'x', { retain: true })),
  },
  'offline sessions': {
    settings: { store: FAST },
    fill: scene =>
      connectAll(
        scene,
        4_000,
        n => login(`offline-${n}`, { clean: false, properties: PERSISTENT }),
        () => 't',
      ),
  },
  'offline sessions at their limit of queued bytes, each with a will to the next': {
    settings: { store: { ...FAST, maxBufferedBytes: 64 * MIB } },
    fill: async scene => {
      await connectAll(
        scene,
        FILLINGS.length,
        n => login(`full-${n}`, { clean: false, properties: PERSISTENT }),
        n => `full/${n}`,
      )
      await connectAll(
        scene,
        3_000,
        n =>
          login(`chain-${n}`, {
            clean: false,
            properties: PERSISTENT,
            will: { topic: `w/${n + 1}`, payload: Buffer.of(1), properties: properties(PROPERTY.willDelay(3_600)) },
            flags: 0xcc,
          }),
        n => `w/${n}`,
      )
      const filler = await scene.connect(login('filler'))
      for (const [n, bytes] of FILLINGS.entries())
        await filler.send(publish(`full/${n}`, Buffer.alloc(bytes), { qos: 1, id: n + 1 }))
      await filler.settled()
    },
  },
  'members of a shared group that acknowledge nothing': {
    settings: { store: { ...FAST, maxBufferedBytes: 32 * MIB } },
    fill: scene =>
      connectAll(
        scene,
        900,
        n => login(`member-${n}`),
        () => '$share/g/s',
        true,
      ),
  },
  'keys with one expiry': {
    settings: { store: FAST },
    fill: scene => sendAll(scene, 60_000, n => setKey(`key/${n}`, 'PX', '600000')(1 + (n % 60_000))),
  },
  watches: {
    settings: { store: FAST },
    fill: async scene => {
      await sendAll(scene, 60_000, n => request('filler', command('KEYNOTIFY', `t${n}`), 1 + (n % 60_000)))
      await sendAll(scene, 300, n => request('globs', command('GLOBNOTIFY', `t*${n}*`), 1 + n), 'globs')
    },
  },
  'rules of a policy': {
    settings: {
      store: {
        ...FAST,
        policy: [
          `- principals: { usernames: [${USER}] }`,
          '  brokerResources:',
          '  - { method: Connect }',
          '  - { method: Publish, topics: ["t/#"] }',
          '  - { method: Subscribe, topics: ["t/#"] }',
          '  stateStoreResources:',
          ...numbers(1_000).map(n => `  - { method: ReadWrite, keyType: Pattern, keys: ["t*${n}*"] }`),
        ].join('\n'),
      },
    },
    fill: async () => undefined,
  },
} satisfies Readonly<Record<string, State>>
