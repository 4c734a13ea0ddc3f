import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { firstOf, type StoreServer, Tokens } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { TestClient } from '../../support/test-client.js'
import { authWith, connectWith } from '../../support/token-packets.js'

const [BAD_CREDENTIALS, NOT_AUTHORIZED, PROTOCOL_ERROR, EXPIRED] = [0x86, 0x87, 0x82, 0xa0]
const HOUR = 3_600_000
/** How long tokens are accepted after their expiry to tolerate clock differences, in milliseconds. */
const CLOCK_SKEW = 5_000
/** The remaining lifetime of a token that expires during the test, in milliseconds. */
const REMAINDER = 300
const POLICY = `
- principals: { usernames: [panel, pump] }
  brokerResources: [{ method: Connect }, { method: Subscribe, topics: ['plant/{principal.username}'] }]`

type Keys = Awaited<ReturnType<typeof generateKeyPair>>

describe('a stolen token or a recorded packet', () => {
  let keys: Keys
  let store: StoreServer

  beforeEach(async () => {
    keys = await generateKeyPair('ES256', { extractable: true })
    const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k' }] })
    const tokens = new Tokens({ jwks, audiences: ['plant'] })
    ;({ store } = await openStore({ authenticate: firstOf([tokens.method]), policy: POLICY }))
  })
  afterEach(() => void vi.useRealTimers())

  const tokenOf = async (sub: string, aud = 'plant', ttl = HOUR): Promise<string> =>
    new SignJWT({ iss: 'i', sub, aud, exp: Math.floor((Date.now() + ttl) / 1_000) })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .sign(keys.privateKey)

  async function connectWithToken(
    token: string,
    clientId: string,
  ): Promise<{ client: TestClient; reasonCode: number | undefined }> {
    const client = TestClient.to(store.url)
    client.send(connectWith(token, clientId))
    const connack = await client.next()
    return { client, reasonCode: connack.cmd === 'connack' ? connack.reasonCode : undefined }
  }

  /** Checks that the client is still connected and served. */
  async function isWell(client: TestClient): Promise<void> {
    client.send({ cmd: 'pingreq' })
    expect(await client.next()).toMatchObject({ cmd: 'pingresp' })
  }

  it('a stolen token grants the rights of its principal and no others', async () => {
    const { client, reasonCode } = await connectWithToken(await tokenOf('panel'), 'thief')
    expect(reasonCode).toBe(0)
    const subscriptions = ['plant/panel', 'plant/pump'].map(topic => ({ topic, qos: 1 as const }))
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions })
    expect(await client.next()).toMatchObject({ cmd: 'suback', granted: [1, NOT_AUTHORIZED] })
  })

  it('a stolen token does not take over the session of another principal', async () => {
    const { client: pump } = await connectWithToken(await tokenOf('pump'), 'pump-1')
    const { reasonCode } = await connectWithToken(await tokenOf('panel'), 'pump-1')
    expect(reasonCode).toBe(NOT_AUTHORIZED)
    await isWell(pump)
  })

  it('a stolen token is rejected by a store with another audience', async () => {
    expect((await connectWithToken(await tokenOf('panel', 'office'), 'thief')).reasonCode).toBe(BAD_CREDENTIALS)
  })

  it('a token is accepted only for its lifetime when the clock of the store is set back', async () => {
    const later = await new SignJWT({ iss: 'i', sub: 'panel', aud: 'plant', exp: Math.floor(Date.now() / 1_000) + 600 })
      .setNotBefore(new Date())
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .sign(keys.privateKey)
    const expired = await tokenOf('panel', 'plant', -60_000)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - HOUR })
    expect((await connectWithToken(later, 'panel-1')).reasonCode).toBe(0)
    expect((await connectWithToken(expired, 'panel-2')).reasonCode).toBe(BAD_CREDENTIALS)
  })

  it('a stolen token is rejected after its expiry in a replayed CONNECT or AUTH', async () => {
    const token = await tokenOf('panel')
    expect((await connectWithToken(token, 'panel-1')).reasonCode).toBe(0)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * HOUR })
    expect((await connectWithToken(token, 'panel-1')).reasonCode).toBe(BAD_CREDENTIALS)
    const { client, reasonCode } = await connectWithToken(await tokenOf('panel'), 'panel-2')
    expect(reasonCode).toBe(0)
    client.send(authWith(token))
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
  })

  it('a stolen token stops working at its expiry, even on an open connection', async () => {
    const second = 1_000 * Math.floor(Date.now() / 1_000)
    vi.useFakeTimers({ toFake: ['Date'], now: second + 1_000 - REMAINDER })
    const token = await tokenOf('panel', 'plant', REMAINDER - CLOCK_SKEW)
    const client = TestClient.to(store.url)
    client.send(connectWith(token, 'thief'), { cmd: 'pingreq' })
    expect(await client.next()).toMatchObject({ cmd: 'connack', reasonCode: 0 })
    expect(await client.next()).toMatchObject({ cmd: 'pingresp' })
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: EXPIRED })
  })

  it('AUTH with a stolen token of another principal ends only that connection', async () => {
    const recorded = await tokenOf('pump')
    const { client: pump } = await connectWithToken(recorded, 'pump-1')
    const { client: mallory } = await connectWithToken(await tokenOf('panel'), 'panel-1')
    mallory.send(authWith(recorded))
    expect(await mallory.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
    await isWell(pump)
  })

  it('its own principal may send it again before its expiry, which stays the same', async () => {
    const token = await tokenOf('panel')
    const { client } = await connectWithToken(token, 'panel-1')
    for (let i = 0; i < 3; i++) {
      client.send(authWith(token))
      expect(await client.next()).toMatchObject({ cmd: 'auth', reasonCode: 0 })
    }
    await isWell(client)
  })

  it('a stolen token is rejected in an AUTH before CONNECT and with another method after CONNECT', async () => {
    const early = TestClient.to(store.url)
    early.send(authWith(await tokenOf('panel')))
    await early.closed
    const { client } = await connectWithToken(await tokenOf('panel'), 'panel-1')
    const properties = { authenticationMethod: 'SCRAM', authenticationData: Buffer.from(await tokenOf('panel')) }
    client.send({ cmd: 'auth', reasonCode: 0x19, properties })
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: PROTOCOL_ERROR })
  })
})
