import { X509Certificate } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { Authority, type Pair } from '../../../harness/certificates.js'
import { certificates, firstOf } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { now, turnedAway } from '../../support/secured.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const [NOT_AUTHORIZED, TAKEN_OVER, EXPIRED] = [0x87, 0x8e, 0xa0]
/** The remaining lifetime of a certificate that expires during the test in ms, enough to connect on a busy machine. */
const REMAINDER = 3_000
const POLICY = `
- principals: { usernames: [panel, pump] }
  brokerResources: [{ method: Connect, clientIds: ['{principal.username}*', 'any-*'] }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ['{principal.username}/*'] }]`

describe('a certificate stolen with its key', () => {
  let servers: Authority
  let clients: Authority
  let panel: Pair
  let pump: Pair

  beforeAll(() => {
    servers = new Authority('/CN=Servers')
    clients = new Authority('/CN=Clients')
    panel = clients.issue('/CN=panel')
    pump = clients.issue('/CN=pump')
  })
  afterEach(() => void vi.useRealTimers())

  const open = async () =>
    openStore({
      tls: { ...servers.issue('/CN=localhost'), clientCa: clients.cert },
      authenticate: firstOf([certificates()]),
      policy: POLICY,
    })
  const showing = (pair: Pair) => ({ ...pair, ca: servers.cert })

  it("it grants its principal's rights and no others, whatever user name is sent", async () => {
    const { store, clock } = await open()
    const thief = await StoreClient.ready(store.url, 'any-thief', { ...showing(panel), username: 'pump' })
    expect((await thief.request(command('SET panel/a v'), now(clock))).text).toBe('+OK\r\n')
    for (const words of ['SET pump/a v', 'GET pump/a', 'DEL pump/a', 'KEYNOTIFY pump/a'])
      expect((await thief.request(command(words), now(clock))).text).toMatch(/not authorized/)
  })

  it('a stolen certificate does not connect with a client id of another principal', async () => {
    const { store } = await open()
    expect(await turnedAway(store.url, 'pump-1', showing(panel))).toBe(NOT_AUTHORIZED)
  })

  it.each([
    ['with a connected client', false],
    ['with an offline client', true],
  ])('a stolen certificate does not take over the session of another principal %s', async (_, away) => {
    const { store } = await open()
    const lasting = { ...showing(pump), clean: false, properties: { sessionExpiryInterval: 3_600 } }
    const owner = await StoreClient.ready(store.url, 'any-1', lasting)
    if (away) await owner.disconnect()
    expect(await turnedAway(store.url, 'any-1', showing(panel))).toBe(NOT_AUTHORIZED)
    if (!away) await owner.settled()
    const back = await StoreClient.connect(store.url, 'any-1', lasting)
    await back.settled()
  })

  it('it takes over only sessions of its principal, whose client gets a reason code', async () => {
    const { store } = await open()
    const owner = await StoreClient.ready(store.url, 'panel-1', showing(panel))
    await StoreClient.ready(store.url, 'panel-1', showing(panel))
    expect(await owner.dismissed()).toBe(TAKEN_OVER)
  })

  it('a stolen certificate stops working at its expiry, even on an open connection', async () => {
    const { store, clock } = await open()
    const { validTo } = new X509Certificate(panel.cert)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(validTo) - REMAINDER })
    const thief = await StoreClient.ready(store.url, 'panel-1', showing(panel))
    let answered = 0
    const uses = async (): Promise<void> => {
      for (;;) {
        await thief.request(command('SET panel/a v'), now(clock))
        answered++
      }
    }
    await expect(uses()).rejects.toThrow()
    expect(await thief.dismissed()).toBe(EXPIRED)
    expect(answered).toBeGreaterThan(0)
  })
})
