import { firstValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { connect, text } from '../../../../src/client/index.js'
import { firstOf } from '../../../../src/server/index.js'
import { openStore } from '../../../support/open-store.js'
import { as, backwards, now } from '../../../support/secured.js'
import { StoreClient } from '../../../support/store-client.js'
import { command, resp3 } from '../../../support/words.js'
import { NO_RIGHTS, SOME_RIGHTS } from '../support/policies.js'

/** The attacker has rights in the first policy, and only the right to connect in the second. */
const RULES = {
  'with rights': SOME_RIGHTS,
  'without rights': NO_RIGHTS,
} as const
const MIB = 1024 * 1024

/** A store with the attacker's connections. */
interface Scene {
  readonly url: string
  readonly mallory: StoreClient
  readonly stamp: { readonly timestamp: string }
}

const PERSISTENT = { ...as('mallory'), clean: false, properties: { sessionExpiryInterval: 3_600 } }

const ATTACKS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'fills the store with large values': async ({ mallory, stamp }) => {
    const value = 'x'.repeat(64 * 1024)
    for (let i = 0; i < 300; i++) await mallory.request(command(`SET mallory/${i} ${value}`), stamp)
  },
  'fills the store with keys': async ({ mallory, stamp }) =>
    Promise.all(Array.from({ length: 3_000 }, (_, i) => mallory.request(command(`SET mallory/${i} v`), stamp))),
  'watches more keys than exist': async ({ mallory }) =>
    Promise.all(Array.from({ length: 3_000 }, (_, i) => mallory.request(command(`KEYNOTIFY mallory/${i}`)))),
  'retains messages up to every limit': async ({ mallory }) => {
    const value = 'x'.repeat(64 * 1024)
    for (let i = 0; i < 200; i++) await mallory.publish(`mallory/${i}`, value, { retain: true })
  },
  'leaves QoS 2 messages unreleased': async ({ mallory }) => {
    const payload = 'x'.repeat(MIB)
    mallory.send({ cmd: 'publish', topic: 'mallory/a', payload, qos: 2, messageId: 1, dup: false, retain: false })
    await mallory.next('pubrec')
    await mallory.cut()
  },
  'leaves offline sessions with queued messages': async ({ url, mallory }) => {
    for (let i = 0; i < 20; i++) {
      const offline = await StoreClient.connect(url, `away-${i}`, PERSISTENT)
      await offline.subscribe('mallory/#')
      await offline.disconnect()
    }
    for (let i = 0; i < 40; i++) await mallory.publish('mallory/a', 'x'.repeat(64 * 1024))
  },
  'subscribes as much as possible in many sessions': async ({ url }) => {
    for (let i = 0; i < 10; i++) {
      const one = await StoreClient.connect(url, `many-${i}`, as('mallory'))
      await Promise.all(Array.from({ length: 200 }, (_, n) => one.subscribe(`mallory/${n}/+/+/#`)))
    }
  },
  'scans continuously': async ({ mallory }) =>
    Promise.all(Array.from({ length: 200 }, () => mallory.request(resp3(['SCAN', '*a*b*c*d*e*f*'])))),
  'repeats one user property': async ({ mallory }) => {
    const userProperties = { name: Array<string>(2_000).fill('x') }
    await mallory.request(resp3(['GET', 'a']), { userProperties }).catch(() => undefined)
    await mallory.closed
  },
  'subscribes to # and $SYS to find other clients': async ({ mallory }) => {
    for (const filter of ['$SYS/#', '#', '+/#', 'clients/#', '$share/g/#'])
      expect(await mallory.subscribe(filter)).toEqual([0x87])
    expect((await mallory.request(command('SCAN *'))).text).not.toContain('innocent')
  },
  'connects as often as it can': async ({ url }) => {
    const options = as('mallory')
    await Promise.allSettled(Array.from({ length: 60 }, (_, i) => StoreClient.connect(url, `crowd-${i}`, options)))
  },
}

describe.each(Object.entries(RULES))('Attacks of a principal %s', (_, policy) => {
  it.each(Object.entries(ATTACKS))(
    'an attacker that %s does not affect an innocent client',
    async (_, attack) => {
      const { store, clock } = await openStore({
        authenticate: firstOf([backwards()]),
        policy,
        maxBytes: 16 * MIB,
        maxBufferedBytes: 16 * MIB,
        maxRetainedBytes: 8 * MIB,
        maxKeys: 4_000,
        maxWatches: 4_000,
        maxSubscriptions: 10_000,
        maxConnections: 200,
      })
      const faults: unknown[] = []
      store.faults$.subscribe(fault => faults.push(fault))
      const innocent = connect(store.url, { ...as('innocent'), clientId: 'innocent-1', clock })
      const key = innocent.key('innocent/a', text)
      await firstValueFrom(key.set('0'))
      const seen = firstValueFrom(key.value$.pipe(toArray()), { defaultValue: [] })
      const mallory = await StoreClient.ready(store.url, 'mallory-1', as('mallory'))
      let over = false
      const attacked = attack({ url: store.url, mallory, stamp: now(clock) }).finally(() => {
        over = true
      })
      let round = 0
      while (!over || round < 3) await firstValueFrom(key.set(String(++round)))
      await attacked
      // The attacker cannot exhaust the quota of the innocent client.
      await firstValueFrom(innocent.key('innocent/large', text).set('x'.repeat(64 * 1024)))
      expect(await firstValueFrom(key.get())).toMatchObject({ value: String(round) })
      expect(store.stats.bufferedBytes).toBeLessThan(12 * MIB)
      expect(store.stats.bytes).toBeLessThan(9 * MIB)
      expect(store.clientIds).toContain('innocent-1')
      await innocent.close()
      expect((await seen).at(-1)).toBe(String(round))
      expect(faults).toEqual([])
    },
    60_000,
  )
})
