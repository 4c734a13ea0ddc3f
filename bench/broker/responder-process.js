// What somebody without this library would write for a store beside a broker: mqtt.js, a Map, and nothing else.
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
  const { answer, version } = answerTo(payload)
  const userProperties = { ...PROPERTIES, ...(version !== undefined && { __ts: version }) }
  client.publish(responseTopic, answer, { qos: 1, properties: { correlationData, userProperties } })
})
await client.subscribeAsync(INVOKE, { qos: 1 })
process.on('disconnect', () => client.end(true))
process.send?.('serving')

/** @param {Buffer} payload - SET key value, or GET key, in RESP3 */
function answerTo(payload) {
  const [, , verb, , key = '', , value = ''] = payload.toString('latin1').split('\r\n')
  if (verb === 'SET') {
    const version = `${Date.now()}:${counter++}:StateStore`
    records.set(key, { value: Buffer.from(value, 'latin1'), version })
    return { answer: Buffer.from('+OK\r\n'), version }
  }
  const found = records.get(key)
  if (found === undefined) return { answer: Buffer.from('$-1\r\n'), version: undefined }
  const head = Buffer.from(`$${found.value.length}\r\n`)
  return { answer: Buffer.concat([head, found.value, Buffer.from('\r\n')]), version: found.version }
}
