import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { json, text } from '../../../src/client/index.js'
import { PubSubRefusedError } from '../../../src/pubsub/client/index.js'
import type { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { Follower, FULL_ACCESS, openBridge } from './support/open-bridge.js'

const event = (name: string, data: unknown, dataType = 'json') => ({ type: 'event', event: name, dataType, data })

/** Sends a write and resolves with `done` or with the error's name. */
async function outcome(client: RawPubSubClient, name: string, data: unknown, dataType?: string): Promise<string> {
  const { success, error } = await client.request(event(name, data, dataType))
  return success === true ? 'done' : Object(error).name
}

describe('a browser that writes a key', () => {
  it('a write is acknowledged when it has been applied, and all members receive it', async () => {
    const { plant, browser } = await openBridge()
    const [ann, bob] = [browser('ann'), browser('bob')]
    const follower = new Follower(bob, 'a')
    await follower.until('is live')
    const result = await firstValueFrom(ann.sendEvent('key:set', { key: 'a', value: { celsius: 21 } }))
    expect(result.duplicate).toBe(false)
    expect((await firstValueFrom(plant.get('a', json()))).value).toEqual({ celsius: 21 })
    await firstValueFrom(ann.sendEvent('key:delete', { key: 'a' }))
    await firstValueFrom(ann.sendEvent('key:delete', { key: 'a' }))
    await follower.until('delete (notification)')
    expect(follower.entries).toEqual([
      'absent (snapshot)',
      'set {"celsius":21} (notification)',
      'delete (notification)',
    ])
  })

  it('a write with an id gets a response with its version', async () => {
    const { plant, raw } = await openBridge()
    const ann = await raw()
    expect(await outcome(ann, 'key:set', { key: 'a', value: 1, id: 'w1' })).toBe('done')
    const stored = await firstValueFrom(plant.get('a', json()))
    const written = { type: 'written', id: 'w1', key: 'a', version: String(stored.version) }
    expect(ann.messages).toMatchObject([{ from: 'server', data: written }])
    expect(await outcome(ann, 'key:delete', { key: 'b', id: 7 })).toBe('done')
    expect(ann.messages[1]?.['data']).toEqual({ type: 'written', id: 7, key: 'b' })
  })

  it('a write may have conditions, an expiry and a fencing token', async () => {
    const { plant, raw } = await openBridge()
    const ann = await raw()
    const { version } = await firstValueFrom(plant.set('lock', 1, json()))
    const fencingToken = String(version)
    expect(await outcome(ann, 'key:set', { key: 'a', value: 1, options: { ifAbsent: true, expiresIn: 60_000 } })).toBe(
      'done',
    )
    expect(await outcome(ann, 'key:set', { key: 'a', value: 2, options: { ifAbsent: true } })).toBe('NotApplied')
    expect(await outcome(ann, 'key:set', { key: 'a', value: 1, options: { ifAbsentOrEqual: true } })).toBe('done')
    expect(await outcome(ann, 'key:set', { key: 'b', value: 1, options: { fencingToken, persist: true } })).toBe('done')
    expect(await outcome(ann, 'key:set', { key: 'b', value: 1 })).toBe('fencing-token-required')
    const stale = { fencingToken: '1:0:old' }
    expect(await outcome(ann, 'key:delete', { key: 'b', options: stale })).toBe('fencing-token-stale')
    expect(await outcome(ann, 'key:delete', { key: 'b', options: { fencingToken } })).toBe('done')
  })

  it('a failed write is rejected with the error code of the store', async () => {
    const { raw, browser, bridged } = await openBridge({ ...FULL_ACCESS, codec: text })
    const ann = await raw()
    expect(await outcome(ann, 'key:set', { key: 'a', value: 21 })).toBe('argument')
    await bridged.close()
    expect(await outcome(ann, 'key:set', { key: 'a', value: 'x' })).toBe('closed')
    const error = await firstValueFrom(browser().sendEvent('key:set', { key: 'a', value: 'x' })).catch(e => e)
    expect(error).toBeInstanceOf(PubSubRefusedError)
    expect(error.hubError.name).toBe('closed')
  })

  it.each([
    ['nothing', 'key:set', undefined],
    ['no object', 'key:set', [{ key: 'a', value: 1 }]],
    ['no key', 'key:set', { value: 1 }],
    ['an empty key', 'key:set', { key: '', value: 1 }],
    ['a key with a lone surrogate', 'key:set', { key: '\ud800', value: 1 }],
    ['a number as the key', 'key:set', { key: 7, value: 1 }],
    ['no value', 'key:set', { key: 'a' }],
    ['an unknown member', 'key:set', { key: 'a', value: 1, ifAbsent: true }],
    ['a value for a deletion', 'key:delete', { key: 'a', value: 1 }],
    ['an unknown option', 'key:set', { key: 'a', value: 1, options: { ifabsent: true } }],
    ['an option of writes for a deletion', 'key:delete', { key: 'a', options: { ifAbsent: true } }],
    ['text as a flag', 'key:set', { key: 'a', value: 1, options: { ifAbsent: 'false' } }],
    ['two conditions', 'key:set', { key: 'a', value: 1, options: { ifAbsent: true, ifAbsentOrEqual: true } }],
    ['a negative time', 'key:set', { key: 'a', value: 1, options: { expiresIn: -1 } }],
    ['no options', 'key:set', { key: 'a', value: 1, options: null }],
    ['no token', 'key:set', { key: 'a', value: 1, options: { fencingToken: 'x' } }],
    ['an object as the id', 'key:set', { key: 'a', value: 1, id: {} }],
    ['a prototype', 'key:set', JSON.parse('{"key":"a","value":1,"__proto__":{}}')],
    ['options with a prototype', 'key:set', JSON.parse('{"key":"a","value":1,"options":{"__proto__":1}}')],
  ])('a write with %s is rejected', async (_what, name, data) => {
    const { plant, raw, hub } = await openBridge()
    const ann = await raw()
    await firstValueFrom(plant.set('a', 'as it was', json()))
    if (data === undefined) expect(await outcome(ann, name, '{"key":"a","value":1}', 'text')).toBe('argument')
    else expect(await outcome(ann, name, data)).toBe('argument')
    expect((await firstValueFrom(plant.get('a', json()))).value).toBe('as it was')
    expect(hub.connections).toHaveLength(1)
  })

  it('a write whose data is not JSON is rejected', async () => {
    const { raw } = await openBridge()
    const ann = await raw()
    expect(await outcome(ann, 'key:set', 'eyJrZXkiOiJhIn0=', 'binary')).toBe('argument')
  })

  it('events of other names are left to the application', async () => {
    const { hub, raw } = await openBridge()
    hub.events$.subscribe(other => other.event === 'greet' && other.reply('hello'))
    const ann = await raw()
    expect(await outcome(ann, 'greet', 1)).toBe('done')
    expect(ann.messages).toMatchObject([{ data: 'hello' }])
  })
})
