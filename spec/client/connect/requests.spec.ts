import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, Hlc, number, ServiceError, systemClock, text } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const real = { clock: systemClock }

describe('one-shot requests', () => {
  it('a write is sent by the call, and its first subscriber gets that result', async () => {
    const { store } = await openStore(real)
    const key = openClient(store.url).key('a', text)
    const requests = record(store.requests$)
    const write = key.set('x')
    await firstValueFrom(key.get())
    expect(requests.values).toHaveLength(2)
    const first = await firstValueFrom(write)
    expect(requests.values).toHaveLength(2)
    const second = await firstValueFrom(write)
    expect(requests.values).toHaveLength(3)
    expect(String(second.version) > String(first.version)).toBe(true)
  })

  it('a read distinguishes absent and empty values', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url)
    expect(await firstValueFrom(client.get('a', text))).toMatchObject({
      op: 'absent',
      value: undefined,
      version: undefined,
    })
    const { version } = await firstValueFrom(client.set('a', '', text))
    expect(await firstValueFrom(client.get('a', text))).toMatchObject({ op: 'set', value: '', version })
  })

  it('a conditional write returns whether it applied, with the conflicting version', async () => {
    const { store } = await openStore(real)
    const key = openClient(store.url).key('lock', text)
    const { version } = await firstValueFrom(key.set('a', { ifAbsent: true }))
    expect(await firstValueFrom(key.set('b', { ifAbsent: true }))).toEqual({ key: 'lock', applied: false, version })
    expect(await firstValueFrom(key.set('b', { ifAbsentOrEqual: true }))).toEqual({
      key: 'lock',
      applied: false,
      version,
    })
    expect(await firstValueFrom(key.set('a', { ifAbsentOrEqual: true }))).toMatchObject({ applied: true })
    expect(await firstValueFrom(key.deleteIf('b'))).toMatchObject({ deleted: false })
    expect(await firstValueFrom(key.deleteIf('a'))).toMatchObject({ deleted: true })
    expect(await firstValueFrom(key.deleteIf('a'))).toMatchObject({ deleted: false, version: undefined })
    expect(await firstValueFrom(key.delete())).toMatchObject({ deleted: false, version: undefined })
  })

  it('a key with expiresIn expires', async () => {
    const clock = new ManualClock(Date.now())
    const { store } = await openStore({ clock })
    const key = openClient(store.url).key('a', number)
    await firstValueFrom(key.set(1, { expiresIn: 50 }))
    clock.advance(49)
    expect(await firstValueFrom(key.get())).toMatchObject({ value: 1 })
    clock.advance(1)
    expect(await firstValueFrom(key.get())).toMatchObject({ op: 'absent' })
  })

  it('a write accepts fencing tokens as objects and in wire form', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url)
    const lock = client.key('lock', text)
    const older = (await firstValueFrom(lock.set('a'))).version ?? new Hlc(0, 0, 'x')
    const newer = (await firstValueFrom(lock.set('b'))).version ?? new Hlc(0, 0, 'x')
    const guarded = client.key('guarded', text)
    await firstValueFrom(guarded.set('1', { fencingToken: newer }))
    const codeOf = (write: Promise<unknown>): Promise<unknown> =>
      write.then(
        () => 'applied',
        ({ code }) => code,
      )
    expect(await codeOf(firstValueFrom(guarded.set('2')))).toBe('fencing-token-required')
    expect(await codeOf(firstValueFrom(guarded.set('2', { fencingToken: older })))).toBe('fencing-token-stale')
    expect(await codeOf(firstValueFrom(guarded.delete({ fencingToken: String(older) })))).toBe('fencing-token-stale')
    expect(await codeOf(firstValueFrom(guarded.set('2', { fencingToken: String(newer) })))).toBe('applied')
    expect(await codeOf(firstValueFrom(guarded.deleteIf('2', { fencingToken: newer })))).toBe('applied')
  })

  it("a rejected request fails with the store's text and an error code", async () => {
    const { store } = await openStore({ ...real, maxKeys: 1 })
    const client = openClient(store.url)
    await firstValueFrom(client.set('a', '1', text))
    const failure = await firstValueFrom(client.set('b', '1', text)).then(undefined, error => error)
    expect(failure).toBeInstanceOf(ServiceError)
    expect(failure).toMatchObject({ code: 'quota-exceeded', text: 'the quota has been exceeded', key: 'b' })
  })

  it('a request without a broker times out and is not sent later', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    link.cut()
    const client = openClient(link.url)
    const requests = record(store.requests$)
    await expect(firstValueFrom(client.set('a', '1', text, { timeout: 20 }))).rejects.toMatchObject({
      code: 'timeout',
      key: 'a',
    })
    link.restore()
    await firstValueFrom(client.get('a', text))
    expect(requests.values).toHaveLength(1)
  })

  it('an unsubscribed request is not sent', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    link.cut()
    const client = openClient(link.url)
    const requests = record(store.requests$)
    client.set('a', '1', text).subscribe().unsubscribe()
    link.restore()
    await firstValueFrom(client.get('a', text))
    expect(requests.values.map(({ outcome }) => outcome)).toEqual(['absent'])
  })

  it('invalid arguments fail a request before anything is sent', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url)
    const requests = record(store.requests$)
    const key = client.key('a', text)
    expect(() => client.key('', text)).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => client.key(new Uint8Array(0), text)).toThrow(expect.objectContaining({ code: 'argument' }))
    const wrong = [
      key.set('x', { expiresIn: 0 }),
      key.set('x', { expiresIn: 1.5 }),
      key.set('x', { fencingToken: 'yesterday' }),
      key.get({ timeout: -1 }),
      client.key('a', number).set(Number.NaN),
    ]
    for (const request of wrong) await expect(request).rejects.toMatchObject({ code: 'argument' })
    await firstValueFrom(key.get())
    expect(requests.values).toHaveLength(1)
  })

  it('a value larger than the packet size limit fails before it is sent', async () => {
    const { store } = await openStore({ ...real, maxPacketSize: 100_000 })
    const key = openClient(store.url).key('a', bytes)
    await firstValueFrom(key.set(new Uint8Array(90_000)))
    await expect(firstValueFrom(key.set(new Uint8Array(100_000)))).rejects.toMatchObject({ code: 'argument' })
    expect((await firstValueFrom(key.get())).value).toHaveLength(90_000)
  })

  it('writes succeed when the clock of the client is behind', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url, { clock: { ...systemClock, now: () => 1 } })
    expect(await firstValueFrom(client.set('a', '1', text))).toMatchObject({ applied: true })
  })

  it('writes fail with clock-skew when the clock of the client is more than a minute ahead', async () => {
    const { store } = await openStore(real)
    const client = openClient(store.url, { clock: { ...systemClock, now: () => Date.now() + 61_000 } })
    await expect(firstValueFrom(client.set('a', '1', text))).rejects.toMatchObject({ code: 'clock-skew' })
  })
})
