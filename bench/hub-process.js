// A hub in a process of its own, and beside it a plain WebSocket server that sends frames of the same bytes.
import { subscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import { servePubSub } from 'rx-statestore/pubsub/server'
import { WebSocket, WebSocketServer } from 'ws'

const GROUP = 'bench'
const DATA = { sensor: 'sensor-7', celsius: 21.5, at: 1_700_000_000_000 }
const PROTOCOLS = /** @type {const} */ (['json', 'protobuf'])
/** Which of the hub's frames the plain server repeats: one with a number of some digits. */
const SAMPLE = 900

const server = await servePubSub({ port: 0, authenticate: 'anonymous' })
const hub = server.hub('bench')

/** @param {number} count */
function publish(count) {
  for (let i = 0; i < count; i++) hub.sendToGroup(GROUP, DATA)
}

const connections = new EventEmitter()
hub.connections$.subscribe(({ type, connection }) => connections.emit(type, connection.connectionId))
/** The frame a client of the hub gets. @param {'json' | 'protobuf'} protocol */
async function sampleOf(protocol) {
  const joined = once(connections, 'connected')
  const socket = new WebSocket(hub.url, `${protocol}.reliable.webpubsub.azure.v1`)
  /** @type {Promise<string | Buffer>} */
  const frames = new Promise(resolve => {
    // Before them comes one that says it is connected.
    let count = -1
    socket.on('message', (data, isBinary) => {
      if (++count === SAMPLE) resolve(isBinary ? Buffer.from(/** @type {Buffer} */ (data)) : data.toString())
    })
  })
  const [connectionId] = await joined
  hub.addToGroup(GROUP, connectionId)
  publish(SAMPLE)
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
  send(Number(searchParams.get('at-once')))
  socket.on('message', data => send(Number(data.toString())))
})

/** Sockets accepted last, at the hub and at the plain server; when, on the clock of all processes of the machine. */
const accepted = { hub: { at: 0n, socket: Object(null) }, plain: { at: 0n, socket: Object(null) } }
subscribe('net.server.socket', message => {
  const { socket } = Object(message)
  const side = socket.localPort === server.port ? 'hub' : 'plain'
  accepted[side] = { at: process.hrtime.bigint(), socket }
})

/** Cuts the hub's client and publishes when the hub knows: before it can be back. @param {number} count */
async function cutAndPublish(count) {
  accepted.hub.socket.destroy()
  while (hub.connections.some(({ attached }) => attached)) await new Promise(resolve => setImmediate(resolve))
  publish(count)
}

/** @param {object} question */
async function answer(question) {
  if ('cutAndPublish' in question) await cutAndPublish(Number(question.cutAndPublish))
  if ('acceptedBy' in question) return String(accepted[question.acceptedBy === 'hub' ? 'hub' : 'plain'].at)
  return true
}

process.on('message', question => void answer(Object(question)).then(result => process.send?.(result)))
process.on('disconnect', () => process.exit())
const address = plain.address()
const port = address !== null && typeof address === 'object' ? address.port : 0
process.send?.({ hub: hub.url, plain: `ws://127.0.0.1:${port}` })
