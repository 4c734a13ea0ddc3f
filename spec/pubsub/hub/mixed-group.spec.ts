import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { DownFrame, UnknownFrame, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { protobufClientCodec as codec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { eventually } from '../../support/eventually.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

/** Opens a client of the protobuf subprotocol that follows no rules. */
async function openBinary(url: string) {
  const socket = new WebSocket(url, [codec.subprotocol])
  onTestFinished(() => socket.terminate())
  const frames: (DownFrame | UnknownFrame)[] = []
  socket.on('message', (data: Buffer) => frames.push(codec.decode(data)))
  await once(socket, 'open')
  await eventually(() => frames.length === 1)
  return { frames, send: (frame: UpFrame) => socket.send(codec.encode(frame)) }
}

describe('a group with clients of both subprotocols', () => {
  it('every member receives every message in its own subprotocol', async () => {
    const { hub } = await openHub()
    const text = await RawPubSubClient.connect(hub.url)
    const binary = await openBinary(hub.url)
    await text.join('g')
    binary.send({ type: 'joinGroup', group: 'g', ackId: 0n })
    await eventually(() => binary.frames.length === 2)
    const payload = { dataType: 'binary', data: new Uint8Array([1, 2, 3]) } as const
    binary.send({ type: 'sendToGroup', group: 'g', payload, noEcho: false, ackId: 2n ** 64n - 1n })
    await eventually(() => binary.frames.length === 4)
    await text.request({ type: 'sendToGroup', group: 'g', dataType: 'json', data: { a: [null] } })
    await eventually(() => binary.frames.length === 5)
    expect(binary.frames.slice(1)).toMatchObject([
      { type: 'ack', ackId: 0n, success: true },
      { type: 'groupMessage', group: 'g', payload: { dataType: 'binary' }, sequenceId: 1n },
      { type: 'ack', ackId: 2n ** 64n - 1n, success: true },
      { type: 'groupMessage', payload: { dataType: 'json', data: { a: [null] } }, sequenceId: 2n },
    ])
    expect(text.messages).toMatchObject([
      { dataType: 'binary', data: 'AQID', sequenceId: 1 },
      { dataType: 'json', data: { a: [null] }, sequenceId: 2 },
    ])
    expect(hub.connections.map(({ subprotocol }) => subprotocol.split('.')[0])).toEqual(['json', 'protobuf'])
  })
})
