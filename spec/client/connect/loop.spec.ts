import { getEventListeners } from 'node:events'
import { firstValueFrom, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Entry, type Hlc, number, systemClock, text } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { inWords, openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { fakeStore } from '../../support/operator-session.js'

const real = { clock: systemClock }

async function open() {
  const { store } = await openStore(real)
  const client = openClient(store.url, { stopDelay: 0 })
  const key = client.key('setPoint', number)
  /** Resolves once the store has processed all earlier requests. */
  const settled = () => firstValueFrom(client.key('marker', text).get())
  return { store, client, key, settled }
}

const rises = (versions: readonly (Hlc | undefined)[]): boolean =>
  versions.every((version, i) => {
    const before = versions[i - 1]
    return before === undefined || (version !== undefined && version.compareTo(before) > 0)
  })

describe('for await (const entry of key)', () => {
  it('the loop receives the current entry and every later one from one registration', async () => {
    const { store, key, settled } = await open()
    const seen: string[] = []
    for await (const entry of key) {
      seen.push(inWords(entry))
      expect(store.stats.watches).toBe(1)
      if (entry.value === 23) break
      await firstValueFrom(key.set((entry.value ?? 20) + 1))
    }
    await settled()
    expect(seen).toEqual([
      'absent (snapshot)',
      'set 21 (notification)',
      'set 22 (notification)',
      'set 23 (notification)',
    ])
    expect(store.stats.watches).toBe(0)
  })

  it('a slow loop skips to the latest entry, and versions increase', async () => {
    const { key } = await open()
    await firstValueFrom(key.set(0))
    const seen: Entry<number>[] = []
    for await (const entry of key) {
      seen.push(entry)
      if (entry.value === 100) break
      for (let value = 1; value <= 100; value++) await firstValueFrom(key.set(value))
    }
    expect(seen.map(({ value }) => value)).toEqual([0, 100])
    expect(rises(seen.map(({ version }) => version))).toBe(true)
  })

  it('the loop continues after a reconnect', async () => {
    const { store } = await openStore(real)
    const link = await layLink(store.url)
    const key = openClient(link.url).key('setPoint', number)
    const elsewhere = openClient(store.url).key('setPoint', number)
    const seen: string[] = []
    for await (const entry of key) {
      seen.push(inWords(entry))
      if (entry.source === 'resync') break
      link.cut()
      await firstValueFrom(elsewhere.set(7))
      link.restore()
    }
    expect(seen).toEqual(['absent (snapshot)', 'set 7 (resync)'])
  })

  it('the loop ends when the client closes', async () => {
    const { client, key } = await open()
    const seen: string[] = []
    for await (const entry of key) {
      seen.push(entry.op)
      void client.close()
    }
    expect(seen).toEqual(['absent'])
  })

  it('the loop throws the error that ends the watch', async () => {
    const { store } = fakeStore(() => of('-ERR not authorized'))
    await expect(store.key('k', text)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'not-authorized' })
  })

  it('a throwing loop body ends the watch', async () => {
    const { store, key, settled } = await open()
    const run = async (): Promise<void> => {
      for await (const entry of key) throw new Error(entry.op)
    }
    await expect(run()).rejects.toThrow('absent')
    await settled()
    expect(store.stats.watches).toBe(0)
  })
})

describe('for await (const entry of key.entries({ signal }))', () => {
  it('aborting ends the waiting loop with an error and leaves no watch', async () => {
    const { store, key, settled } = await open()
    const aborter = new AbortController()
    const seen: string[] = []
    const run = async (): Promise<void> => {
      for await (const entry of key.entries({ signal: aborter.signal })) seen.push(entry.op)
    }
    const over = expect(run()).rejects.toMatchObject({ name: 'AbortError', code: 'aborted', cause: 'enough' })
    await eventually(() => seen.length === 1)
    aborter.abort('enough')
    await over
    await settled()
    expect(store.stats.watches).toBe(0)
    expect(getEventListeners(aborter.signal, 'abort')).toEqual([])
  })

  it('an already aborted signal prevents the watch', async () => {
    const { session, store } = fakeStore(() => of('x'))
    const signal = AbortSignal.abort('enough')
    await expect(store.key('k', text).entries({ signal }).next()).rejects.toMatchObject({ code: 'aborted' })
    expect(session.requests).toEqual([])
  })

  it('leaving the loop removes the abort listener', async () => {
    const { key } = await open()
    const { signal } = new AbortController()
    for await (const _ of key.entries({ signal })) {
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      break
    }
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('`entries` throws synchronously for an invalid signal', async () => {
    const { key } = await open()
    // @ts-expect-error a number is not a signal
    expect(() => key.entries({ signal: 5 })).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})
