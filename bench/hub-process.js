// Runs a hub, and a plain WebSocket server that sends the same frames, as a separate process.
import { subscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import { servePubSub } from 'rx-statestore/pubsub/server'
import { WebSocket, WebSocketServer } from 'ws'

const GROUP = 'bench'
const DATA = { sensor: 'sensor-7', celsius: 21.5, at: 1_700_000_000_000 }
const PROTOCOLS = /** @type {const} */ (['json', 'protobuf'])
/** Number of the hub's frame that the plain server repeats. The sequence id of this frame has a typical length. */
const SAMPLE_NUMBER = 900

const server = await servePubSub({ port: 0, authenticate: 'anonymous' })
const hub = server.hub('bench')

/** @param {number} count */
function publish(count) {
  for (let i = 0; i < count; i++) hub.sendToGroup(GROUP, DATA)
}

const connections = new EventEmitter()
hub.connections$.subscribe(({ type, connection }) => connections.emit(type, connection.connectionId))
/** Returns a frame as the hub sends it to a client. @param {'json' | 'protobuf'} protocol */
async function sampleOf(protocol) {
  const joined = once(connections, 'connected')
  const socket = new WebSocket(hub.url, `${protocol}.reliable.webpubsub.azure.v1`)
  /** @type {Promise<string | Buffer>} */
  const frames = new Promise(resolve => {
    // The first frame is the connected event.
    let count = -1
    socket.on('message', (data, isBinary) => {
      if (++count === SAMPLE_NUMBER) resolve(isBinary ? Buffer.from(/** @type {Buffer} */ (data)) : data.toString())
    })
  })
  const [connectionId] = await joined
  hub.addToGroup(GROUP, connectionId)
  publish(SAMPLE_NUMBER)
  const frame = await frames
  socket.close()
  hub.closeConnection(connectionId)
  return frame
}

/** @type {Record<string, string | Buffer>} */
const samples = {}
for (const protocol of PROTOCOLS) samples[protocol] = await sampleOf(protocol)

hub.events$.subscribe(event => {
  publish(Number(event.payload.data))
  event.accept()
})

const plain = new WebSocketServer({ port: 0, host: '127.0.0.1' })
await once(plain, 'listening')
plain.on('connection', (socket, request) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'ws://localhost')
  const frame = samples[pathname.slice(1)] ?? ''
  const send = (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) socket.send(frame)
  }
  send(Number(searchParams.get('count')))
  socket.on('message', data => send(Number(data.toString())))
})

/**
 * Latest socket of the hub and of the plain server, and the time of its connection on the clock shared by all
 * processes.
 */
const accepted = { hub: { at: 0n, socket: Object(null) }, plain: { at: 0n, socket: Object(null) } }
subscribe('net.server.socket', message => {
  const { socket } = Object(message)
  const side = socket.localPort === server.port ? 'hub' : 'plain'
  accepted[side] = { at: process.hrtime.bigint(), socket }
})

/** Drops the connection of the hub's client, and publishes before it can reconnect. @param {number} count */
async function dropAndPublish(count) {
  accepted.hub.socket.destroy()
  while (hub.connections.some(({ attached }) => attached)) await new Promise(resolve => setImmediate(resolve))
  publish(count)
}

/** @param {object} request */
async function handle(request) {
  if ('dropAndPublish' in request) await dropAndPublish(Number(request.dropAndPublish))
  if ('acceptedBy' in request) return String(accepted[request.acceptedBy === 'hub' ? 'hub' : 'plain'].at)
  return true
}

process.on('message', request => void handle(Object(request)).then(result => process.send?.(result)))
process.on('disconnect', () => process.exit())
const address = plain.address()
const port = address !== null && typeof address === 'object' ? address.port : 0
process.send?.({ hub: hub.url, plain: `ws://127.0.0.1:${port}` })
