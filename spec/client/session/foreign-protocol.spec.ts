import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/keys/codec.js'
import { foreignProtocol } from '../../../src/client/session/inbox.js'
import { eventually } from '../../support/eventually.js'
import { listen } from '../../support/listen.js'
import { ManualClock } from '../../support/manual-clock.js'
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
  const TIMEOUT_MS = 100

  /**
   * Opens a key of a client at such a broker. `afterTimeout` returns the error of a request that times out when the
   * client has received what the broker sends.
   */
  async function openKey(acknowledges = true) {
    let settled = 0
    const broker = await scriptedBroker(
      side => side.send(CONNACK),
      (side, packet) => {
        if (packet.cmd === 'puback' || (packet.cmd === 'publish' && !acknowledges)) settled++
        if (packet.cmd === 'publish' && acknowledges) {
          side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 })
          // The client acknowledges this message after it has received the previous packet.
          side.send({ cmd: 'publish', topic: 'a', payload: '', qos: 1, messageId: 1, dup: false, retain: false })
        }
        grant(side, packet)
      },
    )
    const clock = new ManualClock()
    const afterTimeout = async (request: PromiseLike<unknown>): Promise<unknown> => {
      const before = settled
      const error = Promise.resolve(request).then(
        () => undefined,
        reason => reason,
      )
      await eventually(() => settled > before)
      clock.advance(TIMEOUT_MS)
      return error
    }
    return { key: openClient(broker.url, { clock, timeout: TIMEOUT_MS }).key('a', text), afterTimeout }
  }

  it('the error of a request timeout asks whether the broker has a state store', async () => {
    const { key, afterTimeout } = await openKey()
    const message = expect.stringContaining('(is a state store running at this broker?)')
    expect(await afterTimeout(key.get())).toMatchObject({ code: 'timeout', message })
    expect(await afterTimeout(key.delete())).toMatchObject({ code: 'outcome-unknown', message })
  })

  it('the error asks for the network instead if the broker did not acknowledge the request', async () => {
    const { key, afterTimeout } = await openKey(false)
    const message = expect.stringContaining('(the broker did not acknowledge the request: is the network cut?)')
    expect(await afterTimeout(key.get())).toMatchObject({ code: 'timeout', message })
    expect(await afterTimeout(key.delete())).toMatchObject({ code: 'outcome-unknown', message })
  })

  it("a write's error names the cause of the connection loss after sending", async () => {
    const broker = await scriptedBroker(
      side => side.send(CONNACK),
      (side, packet) => (packet.cmd === 'publish' ? side.socket.destroy() : grant(side, packet)),
    )
    const clock = new ManualClock()
    const client = openClient(broker.url, { clock, timeout: TIMEOUT_MS, reconnectStrategy: () => 60_000 })
    const status = record(client.status$)
    const error = client
      .key('a', text)
      .set('1')
      .then(
        () => undefined,
        reason => reason,
      )
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    clock.advance(TIMEOUT_MS)
    expect(await error).toMatchObject({
      code: 'outcome-unknown',
      message: expect.stringContaining('no response within 100 ms (not connected: '),
    })
  })
})
