import { Subscription } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect } from 'vitest'
import { text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { globBench } from '../../support/glob-bench.js'
import { marbleTest } from '../../support/marble-test.js'

/** The time after which an unresponsive store is scanned, in ms. */
const SCANNED_AT_MS = 5_000

/** Records the emissions of globs that one client watches, each with at most four keys. */
function open(m: Context) {
  const bench = globBench(m)
  return {
    ...bench,
    watch: (glob: string) => {
      const received: string[] = []
      const subscription = matching(bench.store, glob, text, { maxKeys: 4 }).entries$.subscribe(
        ({ key, op, value, source }) => received.push(op === 'set' ? `${key}=${value} ${source}` : `${key} ${op}`),
      )
      return { heard: received, subscription }
    },
    /** Drops the connection. On the next one, from 120 ms, the registration of the glob gets no response. */
    returnWithout: (glob: string) => {
      bench.at(100, bench.disconnect)
      bench.at(110, () => {
        bench.mute(`GLOBNOTIFY ${glob}`)
        bench.change('s/a', '2')
      })
      bench.at(120, bench.connect)
    },
    requests: () => bench.sent.map(line => line.replace(/^\d+ /, '')),
  }
}

describe('overlapping globs of one client', () => {
  marbleTest('neither a glob that scans nor a glob that forgets removed keys makes the other one miss a change', m => {
    const { watch, notify, at, mute, requests } = open(m)
    mute('GLOBNOTIFY */a')
    const all = watch('*')
    const some = watch('*/a')
    at(50, () => notify('s/a', '1'))
    at(SCANNED_AT_MS, () => notify('s/a', undefined))
    at(SCANNED_AT_MS + 10, () => notify('s/b', '1'))
    at(SCANNED_AT_MS + 20, () => notify('s/b', undefined))
    at(SCANNED_AT_MS + 30, () => notify('s/a', '2'))
    at(SCANNED_AT_MS + 31, () => notify('s/a', '3'))
    m.flush()
    const steps = ['s/a=1 notification', 's/a delete', 's/a=2 notification', 's/a=3 notification']
    expect(all.heard.filter(line => line.startsWith('s/a'))).toEqual(steps)
    expect(some.heard).toEqual(steps)
    expect(requests()).not.toContain('KEYNOTIFY s/a')
  })

  marbleTest('a glob does not wait for another glob that gets no response', m => {
    const { watch, notify, at, returnWithout, requests } = open(m)
    const some = watch('*/a')
    const all = watch('*')
    at(50, () => notify('s/a', '1'))
    returnWithout('*/a')
    at(200, () => expect(all.heard.at(-1)).toBe('s/a=2 resync'))
    m.flush()
    expect(some.heard.at(-1)).toBe('s/a=2 resync')
    expect(requests()).not.toContain('KEYNOTIFY s/a')
  })

  marbleTest('an unsubscribed glob hands its keys to another glob, preferably to a registered one', m => {
    const { watch, notify, at, mute, requests } = open(m)
    mute('GLOBNOTIFY */a')
    const all = watch('*')
    at(50, () => void watch('*/a'))
    at(60, () => notify('s/a', '1'))
    const letters: ReturnType<typeof watch>[] = []
    at(70, () => letters.push(watch('s/*')))
    at(200, () => all.subscription.unsubscribe())
    at(201, () => notify('s/a', '2'))
    at(202, () => notify('s/a', '3'))
    m.flush()
    expect(letters[0]?.heard).toEqual(['s/a=1 notification', 's/a=2 notification', 's/a=3 notification'])
    expect(requests()).not.toContain('KEYNOTIFY s/a')
  })

  marbleTest('a glob that gets no response does not delay keys that it finds later', m => {
    const { watch, notify, at, returnWithout } = open(m)
    const received: string[][] = []
    watch('*/a')
    at(50, () => notify('s/a', '1'))
    returnWithout('*/a')
    at(125, () => received.push(watch('*').heard))
    at(200, () => expect(received).toEqual([['s/a=2 resync']]))
    m.flush()
  })

  marbleTest('a glob that is unsubscribed by a response hands its keys to a glob that still awaits its response', m => {
    const { store, watch, notify, at, mute, unmute, requests } = open(m)
    mute('GLOBNOTIFY *')
    mute('GLOBNOTIFY */a')
    const all = matching(store, '*', text, { maxKeys: 4, scanInterval: 300 })
    let states = ''
    const subscription = new Subscription()
    subscription.add(
      all.freshness$.subscribe(({ state }) => {
        states += state[0]
        if (states === 'clr') subscription.unsubscribe()
      }),
    )
    at(6_000, () => {
      unmute('GLOBNOTIFY *')
      watch('*/a')
    })
    at(6_010, () => notify('s/a', '1'))
    m.flush()
    expect(states).toBe('clr')
    expect(requests()).toContain('KEYNOTIFY s/a')
  })

  marbleTest('a glob is not live until a key is read again whose registration ended during its first entry', m => {
    const { store, watch, notify, change, at, mute } = open(m)
    mute('GLOBNOTIFY */a')
    const all = watch('*')
    const received: string[] = []
    at(50, () => notify('s/a', '1'))
    at(60, () => {
      const some = matching(store, '*/a', text, { maxKeys: 4 })
      some.freshness$.subscribe(({ state }) => received.push(state))
      some.entries$.subscribe(({ value, source }) => {
        received.push(`${value} ${source}`)
        all.subscription.unsubscribe()
      })
    })
    at(70, () => notify('s/a', '2'))
    at(80, () => change('s/a', '3'))
    m.flush()
    expect(received).toEqual(['connecting', '1 notification', '3 resync', 'live', 'stale'])
  })
})
