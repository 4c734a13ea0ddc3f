import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { HOST } from '../../../src/client/keys/store-view.js'
import { matching } from '../../../src/client/matching/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { usedBytes } from '../../support/garbage.js'
import { ObedientStore } from '../../support/obedient-store.js'

const CYCLES = 10_000
/** The growth per cycle that fails the test, in bytes. Every object of a client is larger. */
const NOTICEABLE_BYTES = 40
/** A leak grows in every span. Compiled code and the other specs of this process grow only in some. */
const SPANS = 4

type Cycle = (store: ObedientStore, n: number) => unknown

const CYCLE: Record<string, Cycle> = {
  'a key that is unsubscribed by its first entry': ({ client }, n) => {
    const watching = client.key(`k${n}`, text).value$.subscribe(() => watching.unsubscribe())
  },
  'a key whose handler watches another key': ({ client }, n) => {
    const inner = client.key(`l${n}`, text).value$
    const outer = client.key(`k${n}`, text).entries$.subscribe(() => {
      const watching = inner.subscribe(() => {
        watching.unsubscribe()
        outer.unsubscribe()
      })
    })
  },
  'a glob that is unsubscribed in its handler': ({ client }, n) => {
    const watching = matching(client, `g${n}/*`, text).freshness$.subscribe(({ state }) => {
      if (state === 'live') watching.unsubscribe()
    })
  },
  'an optimistic view with a single state': ({ client }, n) =>
    firstValueFrom(optimistic(client.key(`o${n}`, text)).state$),
  'an optimistic view that writes in its handler and is unsubscribed': ({ client }, n) => {
    const view = optimistic(client.key(`o${n}`, text))
    const watching = view.state$.subscribe(({ state, value }) => {
      if (state === 'confirmed' && value === undefined) view.next('written')
      if (state === 'confirmed' && value === 'written') watching.unsubscribe()
    })
  },
}

describe('the heap does not grow over 10,000 reentrant cycles', { tags: 'slow' }, () => {
  it.each(Object.entries(CYCLE))('%s', { timeout: 120_000 }, async (_, cycle) => {
    const store = new ObedientStore({ verifyEvery: 60_000 })
    store.connect()
    const run = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n++) {
        await cycle(store, n)
        store.answer()
        if (n % 100 === 0) store.forget()
      }
      store.answer()
      store.forget()
    }
    await run(0, 1_000)
    let growth = Number.POSITIVE_INFINITY
    for (let n = 1_000; n < 1_000 + SPANS * CYCLES && growth >= CYCLES * NOTICEABLE_BYTES; n += CYCLES) {
      const before = await usedBytes()
      await run(n, n + CYCLES)
      growth = (await usedBytes()) - before
    }
    expect(growth).toBeLessThan(CYCLES * NOTICEABLE_BYTES)
    expect(store.client[HOST].registry.size).toBe(0)
    // Only the timer of verification is left.
    expect(store.clock.pending).toBe(1)
    await store.client.close()
    expect(store.clock.pending).toBe(0)
  })
})
