// A store without this library: mqtt.js and a `Map`.
import mqtt from 'mqtt'

const INVOKE = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke'
const PROPERTIES = { __stat: '200', __protVer: '1.0', __srcId: 'StateStore' }
const [url = ''] = process.argv.slice(2)
/** @type {Map<string, { value: Buffer, version: string }>} */
const records = new Map()
let counter = 0

const client = await mqtt.connectAsync(url, {
  protocolVersion: 5,
  clientId: 'bench-responder',
  reconnectPeriod: 0,
  properties: { receiveMaximum: 65_535 },
})
const { stream } = client
if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
client.on('message', (_topic, payload, { properties }) => {
  const { responseTopic, correlationData } = properties ?? {}
  if (responseTopic === undefined || correlationData === undefined) return
  const { reply, version } = replyTo(payload)
  const userProperties = { ...PROPERTIES, ...(version !== undefined && { __ts: version }) }
  client.publish(responseTopic, reply, { qos: 1, properties: { correlationData, userProperties } })
})
await client.subscribeAsync(INVOKE, { qos: 1 })
process.on('disconnect', () => client.end(true))
process.send?.('serving')

/** @param {Buffer} payload - SET key value, or GET key, in RESP3 */
function replyTo(payload) {
  const [, , verb, , key = '', , value = ''] = payload.toString('latin1').split('\r\n')
  if (verb === 'SET') {
    const version = `${Date.now()}:${counter++}:StateStore`
    records.set(key, { value: Buffer.from(value, 'latin1'), version })
    return { reply: Buffer.from('+OK\r\n'), version }
  }
  const record = records.get(key)
  if (record === undefined) return { reply: Buffer.from('$-1\r\n'), version: undefined }
  const head = Buffer.from(`$${record.value.length}\r\n`)
  return { reply: Buffer.concat([head, record.value, Buffer.from('\r\n')]), version: record.version }
}
