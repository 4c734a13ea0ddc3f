import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, json, systemClock, text } from '../../../src/client/index.js'
import { type Delta, shadow } from '../../../src/client/shadow/index.js'
import { layLink } from '../../support/link.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

interface Pump {
  readonly speed: number
  readonly mode: string
}

/** Opens a device behind a link, and two applications. */
async function open() {
  const { store } = await openStore({ clock: systemClock })
  const link = await layLink(store.url)
  const [ann, bob] = [openClient(store.url), openClient(store.url)]
  const device = openClient(link.url)
  return {
    store,
    link,
    client: ann,
    ann: shadow<Pump>(ann, 'pump-7'),
    bob: shadow<Pump>(bob, 'pump-7'),
    device: shadow<Pump>(device, 'pump-7', undefined, { offline: 'latest' }),
    status$: device.status$,
  }
}

describe('a shadow', () => {
  it('a device applies the desired state, and the shadow shows both states and their difference', async () => {
    const { ann, device } = await open()
    const states = record(ann.state$)
    const done = record(device.follow(({ delta }) => [delta]))
    await ann.desire({ speed: 1_200 })
    await done.until(({ values }) => values.length === 1)
    await states.until(({ values }) => values.at(-1)?.reported?.speed === 1_200)
    expect(states.values.at(-1)).toMatchObject({ desired: { speed: 1_200 }, reported: { speed: 1_200 }, delta: {} })
    expect(states.values.some(({ delta }) => delta.speed === 1_200)).toBe(true)
  })

  it('concurrent changes to different fields are both kept', async () => {
    const { ann, bob } = await open()
    const [annStates, bobStates] = [record(ann.state$), record(bob.state$)]
    for (const { until } of [annStates, bobStates])
      await until(({ values }) => values.at(-1)?.wish.state === 'confirmed')
    await Promise.all([ann.desire({ speed: 900 }), bob.desire({ mode: 'eco' })])
    for (const { until } of [annStates, bobStates])
      await until(({ values }) => {
        const { desired } = values.at(-1) ?? {}
        return desired?.speed === 900 && desired.mode === 'eco'
      })
  })

  it('changes in quick succession are combined, even before the first read', async () => {
    const { ann, client } = await open()
    await client.key('pump-7/desired', bytes).set(new TextEncoder().encode('{"mode":"eco"}'))
    const states = record(ann.state$)
    ann.desire({ speed: 1 }).subscribe()
    ann.desire({ speed: 2 }).subscribe()
    await states.until(({ values }) => values.at(-1)?.wish.state === 'confirmed' && values.at(-1)?.desired?.speed === 2)
    expect(states.values.at(-1)?.desired).toEqual({ mode: 'eco', speed: 2 })
  })

  it('a device that was offline applies only the current desired state', async () => {
    const { ann, device, link, status$ } = await open()
    const applied: Delta<Pump>[] = []
    const done = record(
      device.follow(delta => {
        applied.push(delta)
        return [delta.delta]
      }),
    )
    await ann.desire({ speed: 1 })
    await done.until(({ values }) => values.length === 1)
    link.cut()
    await record(status$).until(({ values }) => values.at(-1)?.state === 'reconnecting')
    for (const speed of [2, 3, 4]) await ann.desire({ speed })
    link.restore()
    await done.until(({ values }) => values.length === 2)
    expect(applied.map(({ delta }) => delta)).toEqual([{ speed: 1 }, { speed: 4 }])
  })

  it('changes during `apply` are applied afterwards, and are not reported before', async () => {
    const { ann, device } = await open()
    const finish = new Subject<Partial<Pump>>()
    const applied: Partial<Pump>[] = []
    const done = record(
      device.follow(({ delta }) => {
        applied.push(delta)
        return applied.length === 1 ? finish : [delta]
      }),
    )
    const states = record(device.delta$)
    await ann.desire({ speed: 1 })
    await states.until(({ values }) => values.at(-1)?.delta.speed === 1)
    await ann.desire({ speed: 2, mode: 'eco' })
    await states.until(({ values }) => values.at(-1)?.delta.speed === 2)
    finish.next({ speed: 1 })
    await done.until(({ values }) => values.length === 2)
    expect(applied).toEqual([{ speed: 1 }, { speed: 2, mode: 'eco' }])
  })

  it('a value that the device cannot reach is not retried until the desired state changes', async () => {
    const { ann, device } = await open()
    const applied: Partial<Pump>[] = []
    const done = record(
      device.follow(({ delta }) => {
        applied.push(delta)
        return [{ speed: Math.min(delta.speed ?? 0, 100) }]
      }),
    )
    await ann.desire({ speed: 500 })
    await done.until(({ values }) => values.length === 1)
    await ann.desire({ speed: 80 })
    await done.until(({ values }) => values.at(-1)?.value.speed === 80)
    expect(applied.filter(({ speed }) => speed === 500).length).toBeLessThanOrEqual(2)
  })

  it('versions keep increasing after a deletion, and old values do not return', async () => {
    const { ann, device, client } = await open()
    const deltas = record(device.delta$)
    const { version: first } = await ann.desire({ speed: 1 })
    await deltas.until(({ values }) => values.at(-1)?.delta.speed === 1)
    await client.delete('pump-7/desired')
    await deltas.until(({ values }) => Object.keys(values.at(-1)?.delta ?? {}).length === 0)
    const { version: second } = await ann.desire({ mode: 'eco' })
    await deltas.until(({ values }) => values.at(-1)?.delta.mode === 'eco')
    expect(deltas.values.at(-1)?.delta).toEqual({ mode: 'eco' })
    expect(first && second?.compareTo(first)).toBeGreaterThan(0)
  })

  it.each(['"abc"', '7', 'null', '[1]', '{'])('recovers after another client writes %s', async nonsense => {
    const { ann, device, client } = await open()
    const [states, deltas] = [record(ann.state$), record(device.delta$)]
    await client.key('pump-7/desired', text).set(nonsense)
    await states.until(({ values }) => values.at(-1)?.wish.error?.code === 'decode')
    expect(states.values.at(-1)).toMatchObject({ desired: undefined, delta: {} })
    await ann.desire({ speed: 3 })
    await deltas.until(({ values }) => values.at(-1)?.delta.speed === 3)
    expect(deltas.values.at(-1)?.delta).toEqual({ speed: 3 })
  })

  it('a patch that is not an object is rejected', async () => {
    const { ann, device } = await open()
    for (const wrong of ['abc', undefined, null, [1]]) {
      // @ts-expect-error a patch is an object
      await expect(ann.desire(wrong)).rejects.toThrow('Expected an object of fields')
    }
    // @ts-expect-error apply must return the fields to report
    const done = record(device.follow(() => [undefined]))
    await ann.desire({ speed: 3 })
    await expect.poll(() => String(done.error)).toContain('Expected an object of fields')
  })

  it('an invalid store or name is rejected', async () => {
    const { client } = await open()
    expect(() => shadow(client, '')).toThrow('Expected the name of a device')
    // @ts-expect-error a name is not a store
    expect(() => shadow('pump-7')).toThrow('Expected a store')
  })

  it('a codec or options instead of the schema are rejected with a hint', async () => {
    const { client } = await open()
    const hint = 'pass the schema itself instead of `json()`, and options as the fourth argument'
    // @ts-expect-error a codec is not a schema
    expect(() => shadow(client, 'pump-7', json())).toThrow(hint)
    // @ts-expect-error options are the fourth argument
    expect(() => shadow(client, 'pump-7', { timeout: 1_000 })).toThrow(hint)
  })
})
