import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { JsonText, jsonOf } from '../../../src/pubsub/wire/json.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { eventually } from '../../support/eventually.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

const EXACT = '{"id":12345678901234567890, "zoll":1.0,"10":1,"9":1e2, "a":"\\u00e4"}'
const publish = (data: string, ackId: number): string =>
  `{"type":"sendToGroup","group":"g","ackId":${ackId},"data":${data}}`

/** Starts a hub with a member of each subprotocol in group `g`, which both record raw frames. */
async function openMembers() {
  const opened = await openHub()
  const texts: string[] = []
  const bytes: Buffer[] = []
  const json = await RawPubSubClient.connect(opened.hub.url)
  json.socket.on('message', data => texts.push(String(data)))
  await json.join('g')
  const protobuf = new WebSocket(opened.hub.url, protobufClientCodec.subprotocol)
  protobuf.on('message', (data: Buffer) => bytes.push(data))
  await eventually(() => bytes.length === 1)
  protobuf.send(protobufClientCodec.encode({ type: 'joinGroup', group: 'g', ackId: 1n }))
  await eventually(() => bytes.length === 2)
  return { ...opened, json, protobuf, texts, bytes }
}

describe('published JSON is forwarded byte for byte', () => {
  it('members receive JSON from a JSON client byte for byte', async () => {
    const { json, texts, bytes } = await openMembers()
    json.send(publish(EXACT, 9))
    await eventually(() => bytes.length === 3 && texts.length === 3)
    expect(texts[1]).toBe(
      `{"type":"message","from":"group","group":"g","dataType":"json","data":${EXACT},"sequenceId":1}`,
    )
    expect(bytes[2]?.includes(EXACT)).toBe(true)
  })

  it('members receive JSON from a protobuf client byte for byte', async () => {
    const { protobuf, texts, bytes } = await openMembers()
    const payload = { dataType: 'json', data: new JsonText(EXACT) } as const
    protobuf.send(protobufClientCodec.encode({ type: 'sendToGroup', group: 'g', payload, noEcho: false }, jsonOf))
    await eventually(() => bytes.length === 3 && texts.length === 2)
    expect(texts[1]).toContain(`"data":${EXACT},`)
    expect(bytes[2]?.includes(EXACT)).toBe(true)
  })

  it('a message that is resent after a recovery has the same bytes', async () => {
    const { hub, json, texts } = await openMembers()
    json.send(publish(EXACT, 9))
    await eventually(() => texts.length === 3)
    json.cut()
    const recovered = await RawPubSubClient.recover(hub.url, json)
    const repeated: string[] = []
    recovered.socket.on('message', data => repeated.push(String(data)))
    await recovered.received(1)
    expect([...repeated, ...texts]).toContain(texts[1])
    expect(recovered.frames[0]).toEqual(JSON.parse(texts[1] ?? ''))
  })

  it('the application receives and can forward the exact JSON of an event', async () => {
    const { hub, json, texts } = await openMembers()
    hub.events$.subscribe(event => {
      expect(event.json).toBe(EXACT)
      expect(event.payload).toEqual({ dataType: 'json', data: JSON.parse(EXACT) })
      event.accept()
    })
    json.send(`{"type":"event","event":"e","ackId":9,"data":${EXACT}}`)
    await eventually(() => texts.length === 2)
    expect(texts[1]).toBe('{"type":"ack","ackId":9,"success":true}')
  })
})
