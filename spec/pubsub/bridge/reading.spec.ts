import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, json, text } from '../../../src/client/index.js'
import { base64, bridge } from '../../../src/pubsub/bridge/index.js'
import { eventually } from '../../support/eventually.js'
import { bridgeTo, Follower, FULL_ACCESS, openBridge, summarize } from './support/open-bridge.js'

const SET_POINT = 'thermostat1\\setPoint'

describe('a browser that joins the group of a key', () => {
  it('a member receives the current entry, then every change with its version', async () => {
    const { plant, raw } = await openBridge()
    const key = plant.key(SET_POINT, json<number>())
    const versions = [String((await firstValueFrom(key.set(20))).version)]
    const ann = await raw()
    await ann.join(`key:${SET_POINT}`)
    await ann.received(2)
    versions.push(String((await firstValueFrom(key.set(21))).version))
    versions.push(String((await firstValueFrom(key.delete())).version))
    await ann.received(4)
    const [first, live, second, third] = ann.messages
    const group = { from: 'group', group: `key:${SET_POINT}`, dataType: 'json' }
    const entry = { type: 'entry', key: SET_POINT }
    const [v1, v2, v3] = versions
    expect(first).toEqual({
      ...{ type: 'message', ...group, sequenceId: 1 },
      data: { ...entry, op: 'set', value: 20, version: v1, source: 'snapshot' },
    })
    expect(live?.['data']).toEqual({ type: 'freshness', key: SET_POINT, state: 'live' })
    expect(second?.['data']).toEqual({ ...entry, op: 'set', value: 21, version: v2, source: 'notification' })
    expect(third?.['data']).toEqual({ ...entry, op: 'delete', reason: 'deleted', version: v3, source: 'notification' })
  })

  it('a member is notified that its key does not exist', async () => {
    const { browser } = await openBridge()
    const follower = new Follower(browser(), 'nothing')
    await follower.until('is live')
    expect(follower.received).toEqual(['absent (snapshot)', 'is live'])
  })

  it('a later member receives only the latest entry', async () => {
    const { plant, store, browser, keys } = await openBridge()
    const key = plant.key('a', json<number>())
    await firstValueFrom(key.set(1))
    const first = new Follower(browser('ann'), 'a')
    await first.until('is live')
    await firstValueFrom(key.set(2))
    await first.until('set 2 (notification)')
    const second = new Follower(browser('bob'), 'a')
    await second.until('is live')
    await firstValueFrom(key.set(3))
    await eventually(() => [first, second].every(({ received: seen }) => seen.includes('set 3 (notification)')))
    expect(first.entries).toEqual(['set 1 (snapshot)', 'set 2 (notification)', 'set 3 (notification)'])
    expect(second.entries).toEqual(['set 2 (notification)', 'set 3 (notification)'])
    expect([store.stats.watches, keys.keys]).toEqual([1, ['a']])
  })

  it('concurrent joins and changes cause neither gaps nor duplicates', async () => {
    const { plant, raw } = await openBridge()
    const key = plant.key('a', json<number>())
    const followers = await Promise.all(Array.from({ length: 8 }, (_, i) => raw(`u${i}`)))
    const writing = (async () => {
      for (let i = 1; i <= 100; i++) await firstValueFrom(key.set(i))
    })()
    for (const client of followers) await client.join('key:a')
    await writing
    for (const client of followers) {
      await client.waitForFrame(frame => summarize(frame['data']).startsWith('set 100 '))
      const texts = client.messages.map(({ data }) => /^set (\d+)/.exec(summarize(data))?.[1])
      const values = texts.filter(value => value !== undefined).map(Number)
      const first = values[0] ?? 0
      expect(values).toEqual(Array.from({ length: 101 - first }, (_, i) => first + i))
    }
  })

  it('members that joined before the bridge, by token or by the application are served', async () => {
    const { bridged, hub, plant, raw } = await openBridge({ prefix: 'other:' })
    await firstValueFrom(plant.set('a', 1, json()))
    const ann = await raw('ann', '&group=key:a')
    const late = await bridgeTo(bridged)
    expect(late.keys.keys).toEqual([])
    using second = bridge(bridged, hub)
    const bob = await raw('bob', '&group=key:a')
    const eve = await raw('eve')
    hub.addToGroup('key:a', eve.connectionId)
    for (const client of [ann, bob, eve]) {
      await client.received(1)
      expect(summarize(client.messages[0]?.['data'])).toBe('set 1 (snapshot)')
    }
    expect(second.keys).toEqual(['a'])
  })

  it('the watch ends with its last member, the session of that member or the bridge', async () => {
    const { store, hub, raw, keys } = await openBridge(FULL_ACCESS, 0)
    const [ann, bob] = [await raw('ann'), await raw('bob')]
    await Promise.all([ann.join('key:a'), ann.join('key:b'), bob.join('key:a'), bob.join('key:c')])
    await eventually(() => store.stats.watches === 3)
    await ann.request({ type: 'leaveGroup', group: 'key:a' })
    await ann.request({ type: 'leaveGroup', group: 'key:b' })
    await eventually(() => store.stats.watches === 2)
    expect([...keys.keys].sort()).toEqual(['a', 'c'])
    bob.cut()
    await eventually(() => store.stats.watches === 0)
    expect(keys.keys).toEqual([])
    await ann.join('key:d')
    await eventually(() => store.stats.watches === 1)
    keys.close()
    keys.close()
    await eventually(() => store.stats.watches === 0)
    expect(hub.connections).toHaveLength(1)
  })

  it('a member receives values as the codec of the key encodes them', async () => {
    const codec = (key: string) => ({ text, base64, bytes })[key] ?? json<unknown>()
    const { plant, browser, errors } = await openBridge({ ...FULL_ACCESS, codec })
    for (const key of ['text', 'base64', 'bytes', 'none'])
      await firstValueFrom(plant.key(key, bytes).set(new Uint8Array([65, 66])))
    await firstValueFrom(plant.set('null', null, json()))
    const client = browser()
    const firsts = ['text', 'base64', 'bytes', 'none', 'null'].map(key => new Follower(client, key))
    await eventually(() => firsts.every(({ received: seen }) => seen.length === 2))
    expect(firsts.map(({ entries }) => entries[0])).toEqual([
      'set "AB" (snapshot)',
      'set "QUI=" (snapshot)',
      'invalid: argument',
      'invalid: decode',
      'set null (snapshot)',
    ])
    expect(errors).toEqual([])
  })

  it('a member receives the version of a value that cannot be sent, and receives later values', async () => {
    const odd = { encode: () => new Uint8Array(), decode: (value: Uint8Array) => (value[0] === 0 ? 1n : 'fine') }
    const { plant, browser, errors } = await openBridge({ ...FULL_ACCESS, codec: odd })
    await firstValueFrom(plant.key('a', bytes).set(new Uint8Array([0])))
    const follower = new Follower(browser(), 'a')
    await follower.until('is live')
    await firstValueFrom(plant.key('a', bytes).set(new Uint8Array([1])))
    await follower.until('set "fine" (notification)')
    expect(follower.entries[0]).toBe('invalid: argument')
    expect(errors).toEqual(['argument'])
  })
})

describe('the base64 codec', () => {
  it('any bytes survive a round trip', () => {
    const all = Uint8Array.from({ length: 256 }, (_, i) => i)
    expect(base64.encode(base64.decode(all))).toEqual(all)
    expect(base64.encode('')).toEqual(new Uint8Array())
  })

  it.each(['QQ', 'QQ==\n', 'Q-==', '!', 'QR=='])('encoding rejects %j', value => {
    expect(() => base64.encode(value)).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})
