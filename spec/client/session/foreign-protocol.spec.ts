import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/keys/codec.js'
import { foreignProtocol } from '../../../src/client/session/inbox.js'
import { listen } from '../../support/listen.js'
import { openClient, record } from '../../support/open-client.js'
import { CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

const answering = (answer: (socket: Socket) => void): Server =>
  createServer(socket => socket.on('data', () => answer(socket)).on('error', () => socket.destroy()))

const http = (): Server => createHttpServer((_, response) => response.end('hello'))
const bytes = (...codes: readonly number[]): Server => answering(socket => socket.write(Uint8Array.from(codes)))

describe('the error for a server of another protocol', () => {
  it.each<[name: string, scheme: string, make: () => Server, message: RegExp]>([
    ['HTTP', 'mqtt', http, /the server speaks HTTP: for MQTT over WebSocket use ws:/],
    ['HTTP', 'ws', http, /does this address and path serve MQTT over WebSocket/],
    ['HTTP', 'mqtts', http, /does not speak TLS: use mqtt:\/\/ or ws:/],
    ['HTTP', 'wss', http, /does not speak TLS: use mqtt:\/\/ or ws:/],
    ['TLS', 'mqtt', () => bytes(0x15, 3, 1, 0, 2, 2, 70), /the server speaks TLS: use mqtts:/],
    ['SSH', 'mqtt', () => answering(socket => socket.write('SSH-2.0-x\r\n')), /speaks SSH/],
    ['MQTT over TCP', 'ws', () => bytes(0x20, 2, 0, 1), /does not speak HTTP: for MQTT over TCP use mqtt:/],
    ['nothing', 'mqtt', () => answering(socket => socket.end()), /is this the address of an MQTT broker/],
  ])('the error names %s at %s', async (_, scheme, make, message) => {
    const port = await listen(make())
    const status = record(openClient(`${scheme}://127.0.0.1:${port}`).status$)
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    expect(status.values.at(-1)).toMatchObject({ cause: { message: expect.stringMatching(message) } })
  })

  it('the error names MQTT 3.1.1 if the server supports nothing newer', async () => {
    const key = openClient(`mqtt://127.0.0.1:${await listen(bytes(0x20, 2, 0, 1))}`).key('a', text)
    await expect(key.get()).rejects.toMatchObject({
      code: 'connection-refused',
      message: expect.stringContaining('it supports at most MQTT 3.1.1, and a state store needs MQTT 5'),
    })
  })

  it.each([
    [[0x20, 9, 0], undefined],
    [[0xf0, 0], undefined],
    [[], undefined],
    [[0x48], 'the server does not speak MQTT'],
  ])('the error is derived from the first bytes: %j', (first, what) => {
    expect(foreignProtocol(Uint8Array.from(first))).toBe(what)
  })
})

describe('a broker that has no state store and does not report unmatched requests', () => {
  const silentBroker = (acknowledges = true) =>
    scriptedBroker(
      side => side.send(CONNACK),
      (side, packet) => {
        if (packet.cmd === 'publish' && !acknowledges) return
        if (packet.cmd === 'publish') side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 })
        else grant(side, packet)
      },
    )

  it('the error of a request timeout asks whether the broker has a state store', async () => {
    const key = openClient((await silentBroker()).url, { timeout: 100 }).key('a', text)
    const question = expect.stringContaining('(is a state store running at this broker?)')
    await expect(key.get()).rejects.toMatchObject({ code: 'timeout', message: question })
    await expect(key.delete()).rejects.toMatchObject({ code: 'outcome-unknown', message: question })
  })

  it('the error asks for the network instead if the broker did not acknowledge the request', async () => {
    const key = openClient((await silentBroker(false)).url, { timeout: 100 }).key('a', text)
    const question = expect.stringContaining('(the broker did not acknowledge the request: is the network cut?)')
    await expect(key.get()).rejects.toMatchObject({ code: 'timeout', message: question })
    await expect(key.delete()).rejects.toMatchObject({ code: 'outcome-unknown', message: question })
  })

  it('the error of a write names the cause of a connection that was lost after the write was sent', async () => {
    const broker = await scriptedBroker(
      side => side.send(CONNACK),
      (side, packet) => (packet.cmd === 'publish' ? side.socket.destroy() : grant(side, packet)),
    )
    const key = openClient(broker.url, { timeout: 200, reconnectStrategy: () => 60_000 }).key('a', text)
    await expect(key.set('1')).rejects.toMatchObject({
      code: 'outcome-unknown',
      message: expect.stringContaining('no response within 200 ms (not connected: '),
    })
  })
})
