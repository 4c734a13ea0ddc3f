// Compares reliable pub/sub with a plain WebSocket that carries the same frames.
import { once } from 'node:events'
import { connectPubSub } from 'rx-statestore/pubsub'
import { Subscription } from 'rxjs'
import { WebSocket } from 'ws'
import { start } from './support/child.js'
import { median, ms, perSecond, progress } from './support/report.js'
import { compare, compareWithFirst, takeTurns } from './support/rounds.js'

/**
 * Messages per request, with two requests in flight. The number is limited because a hub ends a session with 1,000
 * unacknowledged messages.
 */
const BATCH_SIZE = 400
/** Number of messages that are queued for a disconnected client; the hub queues at most 1,000. */
const QUEUED = 900
/** Number of recoveries, enough for 10,000 messages. */
const RECOVERIES = 12

/**
 * A client that receives messages.
 *
 * @typedef {object} Receiver
 * @property {string} name
 * @property {(count: number) => Promise<void>} run - requests `count` messages in batches and resolves with the last
 * one
 * @property {() => Promise<unknown>} close
 */

/**
 * Requests the next batch when a batch has been received, in the same way for all receivers.
 *
 * @param {(count: number) => void} request
 */
function batches(request) {
  let received = 0
  let total = 0
  let requested = 0
  let finish = () => {}
  const requestBatch = () => {
    const count = Math.min(BATCH_SIZE, total - requested)
    requested += count
    if (count > 0) request(count)
  }
  return {
    received: () => {
      received++
      if (received === total) finish()
      else if (received % BATCH_SIZE === 0) requestBatch()
    },
    /** @param {number} count @returns {Promise<void>} */
    run: count =>
      new Promise(resolve => {
        received = 0
        requested = 0
        total = count
        finish = resolve
        requestBatch()
        requestBatch()
      }),
  }
}

/** @param {string} url @param {'json' | 'protobuf'} protocol */
function ours(url, protocol) {
  const client = connectPubSub(url, { protocol, reconnect: { initial: 1, max: 1 } })
  const { received, run } = batches(count => client.sendEvent('more', count).subscribe())
  const failed = new Promise((_resolve, reject) => client.errors$.subscribe(reject))
  client.group('bench').messages$.subscribe(received)
  /** @type {Receiver} */
  const receiver = {
    name: 'rx-statestore',
    run: async count => void (await Promise.race([run(count), failed])),
    close: () => client.close(),
  }
  return { ...receiver, client }
}

/**
 * @param {string} url
 * @param {string} name
 * @param {(data: string) => unknown} read
 * @returns {Promise<Receiver>}
 */
async function plain(url, name, read) {
  const socket = new WebSocket(url)
  await once(socket, 'open')
  const { received, run } = batches(count => socket.send(String(count)))
  socket.on('message', data => {
    read(data.toString())
    received()
  })
  return { name, run, close: async () => socket.close() }
}

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measurePubSub(effort) {
  const child = await start('./hub-process.js')
  const urls = Object(child.ready)
  /** @type {import('./support/report.js').Table} */
  const rates = { title: 'Reliable pub/sub, messages from hub to client', rows: [] }
  /** @type {import('./support/report.js').Table} */
  const recoveries = { title: `Recovery of ${QUEUED} queued messages`, rows: [] }
  for (const protocol of /** @type {const} */ (['json', 'protobuf'])) {
    rates.rows.push(...(await measureRate(protocol, urls, effort)))
    recoveries.rows.push(...(await measureRecovery(protocol, urls, child)))
  }
  await child.close()
  return [rates, recoveries]
}

/** @param {'json' | 'protobuf'} protocol @param {{ hub: string, plain: string }} urls @param {import('./support/rounds.js').Effort} effort */
async function measureRate(protocol, urls, effort) {
  const receivers = [ours(urls.hub, protocol), await plain(`${urls.plain}/${protocol}`, 'ws', () => undefined)]
  // A further plain client parses the frames, as an application must.
  if (protocol === 'json') receivers.push(await plain(`${urls.plain}/json`, 'ws and JSON.parse', JSON.parse))
  const measured = await takeTurns(`messages, ${protocol}`, receivers, effort, 10 * BATCH_SIZE)
  for (const { close } of receivers) await close()
  return compareWithFirst(measured).map(({ name, cells }) => ({ receiver: name, frames: protocol, ...cells }))
}

/**
 * Measures the time from the new connection of a disconnected client until the client has received all queued messages.
 * Compares this time with a new plain connection that receives the same number of frames.
 *
 * @param {'json' | 'protobuf'} protocol
 * @param {{ hub: string, plain: string }} urls
 * @param {import('./support/child.js').Child} child
 */
async function measureRecovery(protocol, urls, child) {
  const receiver = ours(urls.hub, protocol)
  await receiver.run(BATCH_SIZE)
  /** @type {number[]} */
  const own = []
  /** @type {number[]} */
  const plain = []
  for (let round = 0; round < RECOVERIES; round++) {
    progress(`recovery, ${protocol}: ${round + 1} of ${RECOVERIES}`)
    own.push(await sinceAccepted(child, 'hub', recover(receiver.client, child)))
    plain.push(await sinceAccepted(child, 'plain', receive(`${urls.plain}/${protocol}?count=${QUEUED}`)))
  }
  await receiver.close()
  /** @param {string} client @param {readonly number[]} took */
  const row = (client, took) => ({
    client,
    frames: protocol,
    median: ms(median(took)),
    rate: perSecond((QUEUED / median(took)) * 1000),
    '10,000': ms((took.reduce((sum, each) => sum + each, 0) * 10_000) / (QUEUED * RECOVERIES)),
  })
  const { ratio, spread } = compare(plain, own)
  return [row('rx-statestore', own), { ...row('ws, without recovery', plain), 'ours / theirs': ratio, spread }]
}

/** @param {import('./support/child.js').Child} child @param {'hub' | 'plain'} side @param {Promise<bigint>} received */
async function sinceAccepted(child, side, received) {
  const end = await received
  return Number(end - BigInt(String(await child.ask({ acceptedBy: side })))) / 1e6
}

/** @param {import('rx-statestore/pubsub').PubSubClient} client @param {import('./support/child.js').Child} child */
async function recover(client, child) {
  let received = 0
  let subscription = new Subscription()
  /** @type {Promise<bigint>} */
  const all = new Promise(resolve => {
    subscription = client.group('bench').messages$.subscribe(() => {
      if (++received === QUEUED) resolve(process.hrtime.bigint())
    })
  })
  await child.ask({ dropAndPublish: QUEUED })
  return all.finally(() => subscription.unsubscribe())
}

/** @param {string} url @returns {Promise<bigint>} */
function receive(url) {
  return new Promise(resolve => {
    const socket = new WebSocket(url)
    let received = 0
    socket.on('message', () => {
      if (++received < QUEUED) return
      resolve(process.hrtime.bigint())
      socket.close()
    })
  })
}
