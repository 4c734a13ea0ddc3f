import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { VerificationScheduler } from '../../../src/client/watch/verification-scheduler.js'
import { usedBytes } from '../../support/garbage.js'
import { ManualClock } from '../../support/manual-clock.js'
import { ObedientStore } from '../../support/obedient-store.js'

describe('VerificationScheduler', () => {
  it('every item is verified once per round, including items added and removed during it', () => {
    const clock = new ManualClock()
    const all = new Map(['a', 'b', 'c', 'd'].map(name => [name, name]))
    const verified: string[] = []
    const verifying = new VerificationScheduler(clock, 4_000, all, one => verified.push(one))
    verifying.start()
    clock.advance(2_000)
    all.delete('c')
    all.set('e', 'e')
    clock.advance(6_000)
    expect(verified).toEqual(['a', 'b', 'd', 'a', 'b', 'd', 'e', 'a'])
    verifying.stop()
    expect(clock.pending).toBe(0)
  })

  it('a watch that ends or starts during a verification does not disturb the round', () => {
    const clock = new ManualClock()
    const all = new Map(['a', 'b', 'c', 'd'].map(name => [name, name]))
    const verified: string[] = []
    const verifying = new VerificationScheduler(clock, 4_000, all, one => {
      verified.push(one)
      if (one === 'a') all.delete('b')
      if (one === 'c') all.set('e', 'e')
    })
    verifying.start()
    clock.advance(8_000)
    expect(verified.slice(0, 5)).toEqual(['a', 'c', 'd', 'a', 'c'])
    verifying.stop()
  })
})

describe('a client that has watched and left many keys', () => {
  it.each([0, 60_000])(
    'the client retains none of the keys with verifyEvery %i',
    { tags: 'slow' },
    async verifyEvery => {
      const store = new ObedientStore({ verifyEvery })
      store.connect()
      const round = (n: number): void => {
        const watching = Array.from({ length: 100 }, (_, i) => {
          const name = `${n}/${i}`
          store.put(name, 'x'.repeat(20_000))
          return store.client.key(name, text).value$.subscribe()
        })
        store.answer()
        for (const each of watching) each.unsubscribe()
        store.answer()
        store.forget()
      }
      for (let n = 0; n < 3; n++) round(n)
      const before = await usedBytes()
      for (let n = 3; n < 13; n++) round(n)
      const growth = (await usedBytes()) - before
      // 1,000 keys of 20 KB each take 20 MB.
      expect(growth).toBeLessThan(4_000_000)
      void store.client.close()
    },
  )
})
