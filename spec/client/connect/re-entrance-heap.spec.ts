import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { HOST } from '../../../src/client/keys/store-view.js'
import { matching } from '../../../src/client/matching/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { ObedientStore } from '../../support/obedient-store.js'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

async function usedBytes(): Promise<number> {
  collect()
  // External memory is released in a later turn of the event loop.
  await new Promise(resolve => setImmediate(resolve))
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const CYCLES = 10_000
/** The growth per cycle that fails the test, in bytes. Every object of a client is larger. */
const NOTICEABLE_BYTES = 40

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
    const before = await usedBytes()
    await run(1_000, 1_000 + CYCLES)
    expect((await usedBytes()) - before).toBeLessThan(CYCLES * NOTICEABLE_BYTES)
    expect(store.client[HOST].registry.size).toBe(0)
    // Only the timer of verification is left.
    expect(store.clock.pending).toBe(1)
    await store.client.close()
    expect(store.clock.pending).toBe(0)
  })
})
