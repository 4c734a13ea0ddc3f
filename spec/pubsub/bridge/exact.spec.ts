import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Codec, json, text } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { FULL_ACCESS, openBridge } from './support/open-bridge.js'

const EXACT = ['12345678901234567890', '1.0', '{"b":1, "a":[2],"10":null}', '"\\u0041"', 'null', '"}],\\"value\\":1"']

describe('a JSON value', () => {
  it.each(EXACT)('the store holds exactly the characters that a client has written: %s', async value => {
    const { plant, raw } = await openBridge()
    const ann = await raw()
    ann.send(`{"type":"event","event":"key:set","ackId":1,"data":{"value":0,"key":"k","value" : ${value} ,"id":7}}`)
    await ann.waitForFrame(({ ackId }) => ackId === 1)
    expect((await firstValueFrom(plant.key('k', text).get()))?.value).toBe(value)
  })

  it.each(EXACT)('members receive exactly the characters in the store: %s', async value => {
    const { plant, raw } = await openBridge()
    await firstValueFrom(plant.key('k', text).set(value))
    const ann = await raw()
    const frames: string[] = []
    ann.socket.on('message', data => frames.push(String(data)))
    await ann.join('key:k')
    await eventually(() => frames.some(frame => frame.includes('"op":"set"')))
    const entry = frames.find(frame => frame.includes('"op":"set"')) ?? ''
    expect(entry).toContain(`,"value":${value}},"sequenceId":`)
    expect(JSON.parse(entry).data).toMatchObject({ type: 'entry', key: 'k', op: 'set', value: JSON.parse(value) })
  })

  it('a key with the codec `json()` keeps the exact text, and a custom codec converts values', async () => {
    const plain = json<unknown>()
    const own: Codec<unknown> = { encode: value => plain.encode(value), decode: bytes => plain.decode(bytes) }
    const { plant, raw } = await openBridge({ ...FULL_ACCESS, codec: key => (key === 'plain' ? plain : own) })
    const ann = await raw()
    for (const [ackId, key] of ['plain', 'own'].entries()) {
      ann.send(`{"type":"event","event":"key:set","ackId":${ackId},"data":{"key":"${key}","value":1.0}}`)
      await ann.waitForFrame(frame => frame['ackId'] === ackId)
    }
    const stored = ['plain', 'own'].map(async key => (await firstValueFrom(plant.key(key, text).get()))?.value)
    expect(await Promise.all(stored)).toEqual(['1.0', '1'])
  })
})
