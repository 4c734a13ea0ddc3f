import { createHmac, randomBytes } from 'node:crypto'
import type { Packet } from 'mqtt-packet'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Authenticate, StoreServer } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { TestClient } from '../../support/test-client.js'
import { authWith, connectWith } from '../../support/token-packets.js'

const [CONTINUE, NOT_AUTHORIZED, BAD_CREDENTIALS, PROTOCOL_ERROR] = [0x18, 0x87, 0x86, 0x82]
const SECRETS: Readonly<Record<string, string>> = { panel: 'of the panel', pump: 'of the pump' }

const answerTo = (challenge: string, name: string): string =>
  `${name} ${createHmac('sha256', SECRETS[name] ?? '')
    .update(challenge)
    .digest('hex')}`

/** Sends each client a different challenge, which the client must sign. */
const authenticate: Authenticate = ({ data, state }) => {
  const response = Buffer.from(data ?? []).toString()
  if (typeof state !== 'string') {
    const challenge = randomBytes(16).toString('hex')
    return { challenge: Buffer.from(challenge), state: challenge }
  }
  const [name = ''] = response.split(' ')
  if (response !== answerTo(state, name)) return { refused: 'credentials', reason: 'not signed' }
  return { principal: { username: name } }
}

const dataOf = (packet: Packet): string =>
  packet.cmd === 'auth' ? String(packet.properties?.authenticationData) : `no AUTH but ${packet.cmd}`

describe('a recorded AUTH packet', () => {
  let store: StoreServer
  beforeEach(async () => {
    ;({ store } = await openStore({ authenticate }))
  })

  /** Connects a client until it receives its challenge. Returns the client and the challenge. */
  async function connectToChallenge(clientId: string): Promise<{ client: TestClient; challenge: string }> {
    const client = TestClient.to(store.url)
    client.send(connectWith('hello', clientId))
    const packet = await client.next()
    expect(packet).toMatchObject({ cmd: 'auth', reasonCode: CONTINUE })
    return { client, challenge: dataOf(packet) }
  }

  /** Connects a client. Returns the client and its recorded answer to the challenge. */
  async function connectAuthenticated(name: string): Promise<{ client: TestClient; recorded: string }> {
    const { client, challenge } = await connectToChallenge(`${name}-1`)
    const recorded = answerTo(challenge, name)
    client.send(authWith(recorded, CONTINUE))
    expect(await client.next()).toMatchObject({ cmd: 'connack', reasonCode: 0 })
    return { client, recorded }
  }

  async function isWell(client: TestClient): Promise<void> {
    client.send({ cmd: 'pingreq' })
    expect(await client.next()).toMatchObject({ cmd: 'pingresp' })
  }

  it.each(['panel-1', 'thief'])('does not authenticate a client that replays it as client %s', async clientId => {
    const { client: owner, recorded } = await connectAuthenticated('panel')
    const { client: thief } = await connectToChallenge(clientId)
    thief.send(authWith(recorded, CONTINUE))
    expect(await thief.next()).toMatchObject({ cmd: 'connack', reasonCode: BAD_CREDENTIALS })
    await isWell(owner)
  })

  it('a client that sends AUTH before the challenge is not authenticated', async () => {
    const { recorded } = await connectAuthenticated('panel')
    const thief = TestClient.to(store.url)
    thief.send(connectWith('hello', 'thief'))
    thief.send(authWith(recorded, CONTINUE))
    expect(await thief.next()).toMatchObject({ cmd: 'auth', reasonCode: CONTINUE })
    expect(await thief.next()).toMatchObject({ cmd: 'connack', reasonCode: BAD_CREDENTIALS })
  })

  it('does not authenticate another connection that is challenged at the same time', async () => {
    const [owner, thief] = [await connectToChallenge('panel-1'), await connectToChallenge('thief')]
    const answer = answerTo(owner.challenge, 'panel')
    thief.client.send(authWith(answer, CONTINUE))
    expect(await thief.client.next()).toMatchObject({ cmd: 'connack', reasonCode: BAD_CREDENTIALS })
    owner.client.send(authWith(answer, CONTINUE))
    expect(await owner.client.next()).toMatchObject({ cmd: 'connack', reasonCode: 0 })
  })

  it('does not answer a new challenge on the same connection', async () => {
    const { client, recorded } = await connectAuthenticated('panel')
    client.send(authWith(recorded))
    expect(await client.next()).toMatchObject({ cmd: 'auth', reasonCode: CONTINUE })
    client.send(authWith(recorded, CONTINUE))
    expect(await client.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
  })

  it('an AUTH packet signed by another principal ends the connection', async () => {
    const { client: pump } = await connectAuthenticated('pump')
    const { client: panel } = await connectAuthenticated('panel')
    panel.send(authWith('again'))
    panel.send(authWith(answerTo(dataOf(await panel.next()), 'pump'), CONTINUE))
    expect(await panel.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
    await isWell(pump)
  })

  it('a client that answers a challenge with a new AUTH or another packet is disconnected', async () => {
    const second = await connectToChallenge('second')
    second.client.send(authWith('hello'))
    expect(await second.client.next()).toMatchObject({ cmd: 'connack', reasonCode: PROTOCOL_ERROR })
    const other = await connectToChallenge('other')
    other.client.send({ cmd: 'pingreq' })
    expect(await other.client.next()).toMatchObject({ cmd: 'connack', reasonCode: PROTOCOL_ERROR })
  })
})
