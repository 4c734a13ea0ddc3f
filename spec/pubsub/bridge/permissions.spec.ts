import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { json } from '../../../src/client/index.js'
import { type BridgeOptions, bridge } from '../../../src/pubsub/bridge/index.js'
import { eventually } from '../../support/eventually.js'
import type { RawFrame } from '../support/raw-pubsub-client.js'
import { FULL_ACCESS, openBridge } from './support/open-bridge.js'

const nameOf = ({ success, error }: RawFrame): string => (success === true ? 'done' : Object(error).name)
const join = (key: string) => ({ type: 'joinGroup', group: `key:${key}` })
const write = (key: string, name = 'set') => ({
  type: 'event',
  event: `key:${name}`,
  dataType: 'json',
  data: name === 'set' ? { key, value: 1 } : { key },
})

describe('permissions of a bridge', () => {
  it('by default, roles decide about reading, and writing is denied', async () => {
    const { raw, store } = await openBridge({})
    const ann = await raw('ann', '&role=webpubsub.joinLeaveGroups.key:line*')
    expect(nameOf(await ann.request(join('line-1')))).toBe('done')
    expect(nameOf(await ann.request(join('secret')))).toBe('Forbidden')
    expect(nameOf(await ann.request(write('line-1')))).toBe('Forbidden')
    expect(nameOf(await ann.request(write('line-1', 'delete')))).toBe('Forbidden')
    await eventually(() => store.stats.watches === 1)
    expect(store.stats.keys).toBe(0)
  })

  it('`read` and `write` receive the client, the key and the operation', async () => {
    const asked: string[] = []
    const { raw } = await openBridge({
      read: ({ userId }, key) => asked.push(`${userId} reads ${key}`) > 0 && key !== 'secret',
      write: ({ userId }, key, operation) => asked.push(`${userId} ${operation} ${key}`) > 0 && operation === 'set',
    })
    const ann = await raw('ann', '&role=webpubsub.joinLeaveGroup')
    const requests = [join('a'), join('secret'), write('a'), write('a', 'delete')]
    const answers = []
    for (const request of requests) answers.push(nameOf(await ann.request(request)))
    expect(answers).toEqual(['done', 'Forbidden', 'done', 'Forbidden'])
    expect(asked).toEqual(['ann reads a', 'ann reads secret', 'ann set a', 'ann delete a'])
  })

  it('the JSON of a write is parsed only if the client may write', async () => {
    const { raw } = await openBridge({ write: (_, key) => key === 'mine' })
    const ann = await raw()
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const value = Array.from({ length: 10_000 }, () => [])
    const set = (data: unknown) => ann.request({ type: 'event', event: 'key:set', dataType: 'json', data })
    const parsedLarge = (): boolean => parse.mock.calls.some(([text]) => String(text).length > 10_000)
    expect(nameOf(await set({ key: 'secret', value }))).toBe('Forbidden')
    expect(nameOf(await set([value]))).toBe('argument')
    expect(nameOf(await set({ key: value }))).toBe('argument')
    expect(parsedLarge()).toBe(false)
    expect(nameOf(await set({ value, key: 'mine' }))).toBe('done')
    expect(parsedLarge()).toBe(true)
  })

  it('a `read` or `write` that throws or returns a promise denies access', async () => {
    const rude = (): boolean => {
      throw new Error('no idea')
    }
    const first = await openBridge({ read: rude, write: rude })
    const promising: object = { read: async () => true, write: async () => true }
    const second = await openBridge(promising)
    for (const { raw, store } of [first, second]) {
      const ann = await raw()
      expect(nameOf(await ann.request(join('a')))).toBe('Forbidden')
      expect(nameOf(await ann.request(write('a')))).toBe('Forbidden')
      expect([store.stats.watches, store.stats.keys]).toEqual([0, 0])
    }
    expect(first.errors).toEqual(['argument', 'argument'])
  })

  it('no client may send to the group of a key, and every client may leave the group', async () => {
    let open = true
    const { raw, hub } = await openBridge({ ...FULL_ACCESS, read: () => open })
    const ann = await raw('ann', '&role=webpubsub.sendToGroup&role=webpubsub.joinLeaveGroup')
    const send = { type: 'sendToGroup', dataType: 'json', data: 1 }
    expect(nameOf(await ann.request({ ...send, group: 'key:a' }))).toBe('Forbidden')
    expect(nameOf(await ann.request({ ...send, group: 'chat' }))).toBe('done')
    expect(nameOf(await ann.request(join('')))).toBe('Forbidden')
    expect(nameOf(await ann.request(join('a')))).toBe('done')
    open = false
    expect(nameOf(await ann.request(join('b')))).toBe('Forbidden')
    expect(nameOf(await ann.request({ type: 'leaveGroup', group: 'key:a' }))).toBe('done')
    expect(hub.addToGroup('key:', ann.connectionId)).toBe(true)
    expect(hub.connections[0]?.groups).toEqual(['key:'])
  })

  it('reading and writing are denied after the bridge has closed', async () => {
    const { raw, keys, hub, bridged } = await openBridge()
    keys.close()
    const ann = await raw()
    expect(nameOf(await ann.request(join('a')))).toBe('Forbidden')
    expect(nameOf(await ann.request(write('a')))).toBe('NotFound')
    using again = bridge(bridged, hub, FULL_ACCESS)
    expect(nameOf(await ann.request(join('a')))).toBe('done')
    expect(again.keys).toEqual(['a'])
  })
})

describe('options of a bridge', () => {
  it.each<[string, object]>([
    ['a blank prefix', { prefix: ' ' }],
    ['a prefix that is not a string', { prefix: 7 }],
    ['a long prefix', { prefix: 'x'.repeat(101) }],
    ['a `read` that is not a function', { read: true }],
    ['a `write` that is not a function', { write: 'all' }],
  ])('`bridge` rejects %s', async (_what, options) => {
    const { bridged, hub } = await openBridge()
    expect(() => bridge(bridged, hub, options)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('the names of groups and events begin with the configured prefix', async () => {
    const options: BridgeOptions = { ...FULL_ACCESS, prefix: 'plant/' }
    const { raw, plant } = await openBridge(options)
    const ann = await raw()
    await ann.request({ type: 'event', event: 'plant/set', dataType: 'json', data: { key: 'a', value: 7 } })
    expect((await firstValueFrom(plant.get('a', json()))).value).toBe(7)
    await ann.join('plant/a')
    await ann.received(1)
    expect(ann.messages[0]).toMatchObject({ group: 'plant/a', data: { key: 'a', value: 7 } })
  })

  it('a key whose codec fails is reported to its group', async () => {
    const codec = (): never => {
      throw new Error('no codec')
    }
    const { raw, errors, keys } = await openBridge({ ...FULL_ACCESS, codec })
    const ann = await raw()
    await ann.join('key:a')
    await ann.received(1)
    expect(ann.messages[0]?.['data']).toMatchObject({ type: 'error', key: 'a', error: { code: 'argument' } })
    expect(nameOf(await ann.request(write('a')))).toBe('argument')
    expect([errors, keys.keys]).toEqual([['argument'], []])
  })
})
