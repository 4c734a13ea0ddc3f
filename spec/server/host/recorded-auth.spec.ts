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

/** Each client gets its own challenge and must sign it. */
const authenticate: Authenticate = ({ data, state }) => {
  const said = Buffer.from(data ?? []).toString()
  if (typeof state !== 'string') {
    const challenge = randomBytes(16).toString('hex')
    return { challenge: Buffer.from(challenge), state: challenge }
  }
  const [name = ''] = said.split(' ')
  if (said !== answerTo(state, name)) return { refused: 'credentials', reason: 'not signed' }
  return { principal: { username: name } }
}

const dataOf = (packet: Packet): string =>
  packet.cmd === 'auth' ? String(packet.properties?.authenticationData) : `no AUTH but ${packet.cmd}`

describe('a recorded AUTH packet', () => {
  let store: StoreServer
  beforeEach(async () => {
    ;({ store } = await openStore({ authenticate }))
  })

  /** A client that has sent CONNECT, and its challenge. */
  async function begin(clientId: string): Promise<{ speaker: TestClient; challenge: string }> {
    const speaker = TestClient.to(store.url)
    speaker.send(connectWith('hello', clientId))
    const packet = await speaker.next()
    expect(packet).toMatchObject({ cmd: 'auth', reasonCode: CONTINUE })
    return { speaker, challenge: dataOf(packet) }
  }

  /** A connected client, and its answer to the challenge. */
  async function come(name: string): Promise<{ speaker: TestClient; recorded: string }> {
    const { speaker, challenge } = await begin(`${name}-1`)
    const recorded = answerTo(challenge, name)
    speaker.send(authWith(recorded, CONTINUE))
    expect(await speaker.next()).toMatchObject({ cmd: 'connack', reasonCode: 0 })
    return { speaker, recorded }
  }

  async function isWell(speaker: TestClient): Promise<void> {
    speaker.send({ cmd: 'pingreq' })
    expect(await speaker.next()).toMatchObject({ cmd: 'pingresp' })
  }

  it.each(['panel-1', 'thief'])(
    'a recorded AUTH packet does not authenticate a client that replays it as client %s',
    async clientId => {
      const { speaker: owner, recorded } = await come('panel')
      const { speaker: thief } = await begin(clientId)
      thief.send(authWith(recorded, CONTINUE))
      expect(await thief.next()).toMatchObject({ cmd: 'connack', reasonCode: BAD_CREDENTIALS })
      await isWell(owner)
    },
  )

  it('a client that sends AUTH before the challenge is not authenticated', async () => {
    const { recorded } = await come('panel')
    const thief = TestClient.to(store.url)
    thief.send(connectWith('hello', 'thief'))
    thief.send(authWith(recorded, CONTINUE))
    expect(await thief.next()).toMatchObject({ cmd: 'auth', reasonCode: CONTINUE })
    expect(await thief.next()).toMatchObject({ cmd: 'connack', reasonCode: BAD_CREDENTIALS })
  })

  it('a recorded AUTH packet does not authenticate another connection with a challenge at the same time', async () => {
    const [owner, thief] = [await begin('panel-1'), await begin('thief')]
    const answer = answerTo(owner.challenge, 'panel')
    thief.speaker.send(authWith(answer, CONTINUE))
    expect(await thief.speaker.next()).toMatchObject({ cmd: 'connack', reasonCode: BAD_CREDENTIALS })
    owner.speaker.send(authWith(answer, CONTINUE))
    expect(await owner.speaker.next()).toMatchObject({ cmd: 'connack', reasonCode: 0 })
  })

  it('a recorded AUTH packet does not answer a new challenge on its own connection', async () => {
    const { speaker, recorded } = await come('panel')
    speaker.send(authWith(recorded))
    expect(await speaker.next()).toMatchObject({ cmd: 'auth', reasonCode: CONTINUE })
    speaker.send(authWith(recorded, CONTINUE))
    expect(await speaker.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
  })

  it('an AUTH packet signed by another principal ends the connection', async () => {
    const { speaker: pump } = await come('pump')
    const { speaker: panel } = await come('panel')
    panel.send(authWith('again'))
    panel.send(authWith(answerTo(dataOf(await panel.next()), 'pump'), CONTINUE))
    expect(await panel.next()).toMatchObject({ cmd: 'disconnect', reasonCode: NOT_AUTHORIZED })
    await isWell(pump)
  })

  it('a client that sends a new AUTH or another packet during a challenge is disconnected', async () => {
    const anew = await begin('anew')
    anew.speaker.send(authWith('hello'))
    expect(await anew.speaker.next()).toMatchObject({ cmd: 'connack', reasonCode: PROTOCOL_ERROR })
    const other = await begin('other')
    other.speaker.send({ cmd: 'pingreq' })
    expect(await other.speaker.next()).toMatchObject({ cmd: 'connack', reasonCode: PROTOCOL_ERROR })
  })
})
