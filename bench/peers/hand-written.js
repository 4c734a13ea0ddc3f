import mqtt from 'mqtt'
import { runConcurrently } from '../support/closed-loop.js'

const INVOKE = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke'

/**
 * Sends requests over mqtt.js with hand-written code: no timeouts, no ordering, no types.
 *
 * @param {string} url
 * @param {Uint8Array} value
 * @returns {Promise<import('./peer.js').Contestant>}
 */
export async function handWritten(url, value) {
  const client = await mqtt.connectAsync(url, { protocolVersion: 5, clientId: 'bench-loop', reconnectPeriod: 0 })
  const { stream } = client
  if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
  const responseTopic = 'clients/bench-loop/services/statestore/_any_/command/invoke/response'
  await client.subscribeAsync(responseTopic, { qos: 1 })
  /** @type {Map<number, () => void>} */
  const waiting = new Map()
  client.on('message', (_topic, _payload, { properties }) => {
    const id = properties?.correlationData?.readUInt32BE(0) ?? 0
    waiting.get(id)?.()
    waiting.delete(id)
  })
  let onClose = () => {}
  /** @type {Promise<never>} */
  const connectionLost = new Promise((_resolve, reject) => {
    onClose = () => reject(new Error('The mqtt.js loop lost its connection; its pending requests have no response'))
  })
  client.once('close', onClose)
  let lastId = 0
  const payloads = {
    SET: Buffer.concat([
      Buffer.from(`*3\r\n$3\r\nSET\r\n$5\r\nbench\r\n$${value.length}\r\n`),
      value,
      Buffer.from('\r\n'),
    ]),
    GET: Buffer.from('*2\r\n$3\r\nGET\r\n$5\r\nbench\r\n'),
  }
  /** @param {'SET' | 'GET'} verb */
  const request = verb =>
    new Promise(resolve => {
      const correlationData = Buffer.alloc(16)
      correlationData.writeUInt32BE(++lastId)
      waiting.set(lastId, () => resolve(undefined))
      const userProperties = { __ts: `${Date.now()}:0:bench` }
      client.publish(INVOKE, payloads[verb], { qos: 1, properties: { responseTopic, correlationData, userProperties } })
    })
  return {
    name: 'mqtt.js loop',
    run: (verb, inFlight, requests) =>
      Promise.race([connectionLost, runConcurrently(inFlight, requests, () => request(verb))]),
    close: () => {
      client.off('close', onClose)
      return client.endAsync()
    },
  }
}
