import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { openStore } from '../../support/open-store.js'
import { bytesOf } from '../../support/packets.js'

const PINGREQ = bytesOf({ cmd: 'pingreq' })
const CONNECT = bytesOf({
  cmd: 'connect',
  clientId: 'frames',
  protocolId: 'MQTT',
  protocolVersion: 5,
  clean: true,
  keepalive: 0,
})

async function openSocket(): Promise<WebSocket> {
  const { store } = await openStore()
  const socket = new WebSocket(store.wsUrl, ['mqtt'])
  onTestFinished(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

it('selects the subprotocol mqtt and sends binary frames [6.0.0-1, 6.0.0-4]', async () => {
  const socket = await openSocket()
  expect(socket.protocol).toBe('mqtt')
  socket.send(CONNECT)
  const [, isBinary] = await once(socket, 'message')
  expect(isBinary).toBe(true)
})

it('over WebSocket, a text frame ends the connection [6.0.0-1]', async () => {
  const socket = await openSocket()
  socket.send(CONNECT.toString('latin1'))
  await once(socket, 'close')
})

it('packets may be split between frames or share a frame [6.0.0-2]', async () => {
  const socket = await openSocket()
  let came = Buffer.alloc(0)
  socket.on('message', (data: Buffer) => {
    came = Buffer.concat([came, data])
  })
  socket.send(CONNECT.subarray(0, 5))
  socket.send(Buffer.concat([CONNECT.subarray(5), PINGREQ, PINGREQ.subarray(0, 1)]))
  socket.send(PINGREQ.subarray(1))
  await expect.poll(() => came.subarray(-4).toString('hex')).toBe('d000d000')
  expect(came[0]).toBe(0x20)
})
