import { map } from 'rxjs'
import { describe, expect } from 'vitest'
import { lease } from '../../../src/client/lease/lease.js'
import type { LeaseOptions } from '../../../src/client/lease/lease-options.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'
import { at, inWords, JITTER, leaseBench, transcript } from '../../support/lease-bench.js'
import { marbleTest } from '../../support/marble-test.js'

const OPTIONS: LeaseOptions = { duration: 9_000, holder: 'me' }
const states$ = (store: ReturnType<typeof leaseBench>['store']) => lease(store, 'line', OPTIONS).pipe(map(inWords))
const CLAIM = 'SET me NEX PX 9000'

describe('a free lease', () => {
  marbleTest('a lease sends nothing before it is subscribed', m => {
    const { store, sent } = leaseBench(m, { set: ['+1'] })
    lease(store, 'line', OPTIONS)
    m.flush()
    expect(sent()).toEqual([])
  })

  marbleTest('a lease acquires, renews every third of its duration with one token, and releases', m => {
    const { store, sent } = leaseBench(m, { set: ['+1', '+2', '+3'], get: ['me 1'] })
    const held = {
      a: 'held 1 until 9000',
      b: 'held 1 until 12000',
      c: 'held 1 until 15000',
    }
    m.expect(states$(store), '^ 6999ms !').toBeObservable('a 2999ms b 2999ms c', held)
    m.flush()
    expect(sent()).toEqual([CLAIM, 'KEYNOTIFY', 'GET', CLAIM, CLAIM, 'VDEL me', 'KEYNOTIFY STOP'])
  })

  marbleTest('a lease counts its duration from the sending of the request, not from the response', m => {
    const { store } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'], delay: 1_000 })
    const values = { a: 'held 1 until 9000', b: 'held 1 until 12000' }
    // The first renewal is sent 3 s after the request, and its response takes another second.
    m.expect(states$(store), '^ 5500ms !').toBeObservable('1000ms a 2999ms b', values)
  })

  marbleTest('a lease whose acquisition got a slow response is renewed before it expires', m => {
    const { store } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'], frozenUntil: 8_000 })
    const values = { a: 'held 1 until 9000', b: 'held 1 until 17000' }
    m.expect(states$(store), '^ 10000ms !').toBeObservable('8000ms (ab)', values)
  })

  marbleTest('a lease renews at the configured interval', m => {
    const { store, sent } = leaseBench(m, { set: ['+1', '+2', '+3', '+4'], get: ['me 1'] })
    lease(store, 'line', { ...OPTIONS, renewEvery: 1_000 })
      .subscribe()
      .add(() => undefined)
    const subscription = lease(store, 'other', { ...OPTIONS, renewEvery: 1_000 }).subscribe()
    at(m, 2_500, () => subscription.unsubscribe())
    at(m, 2_500, () => void store.close())
    m.flush()
    expect(sent().filter(words => words === CLAIM)).toHaveLength(6)
  })

  marbleTest('a lease leaves no timer, request or registration after unsubscribe', m => {
    const { store } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
    const subscription = states$(store).subscribe()
    at(m, 10, () => subscription.unsubscribe())
    // A remaining timer would keep this call from returning, as a lease renews forever.
    m.flush()
    expect(m.scheduler.actions).toEqual([])
  })

  marbleTest('a lease has a different holder for each subscriber by default', m => {
    const { store, session } = leaseBench(m, { set: ['+1', '-1'] })
    const line = lease(store, 'line', { duration: 9_000 })
    const both = [line.subscribe(), line.subscribe()]
    at(m, 10, () => {
      for (const one of both) one.unsubscribe()
    })
    m.flush()
    const holders = session.requests.filter(({ verb }) => verb === 'SET').map(({ rest }) => rest[0])
    expect(new Set(holders).size).toBe(2)
    for (const holder of holders) expect(holder).toMatch(/^client-id1\/[0-9a-f]{16}$/)
  })
})

describe('a lease that another client holds', () => {
  marbleTest('a waiting lease watches the lock key and sends no requests', m => {
    const { store, session, sent } = leaseBench(m, { set: ['-5', '+9'], get: ['other 5'] })
    at(m, 4_000, () => session.notify('line', { set: 'other' }, 6))
    at(m, 8_000, () => session.notify('line', { set: 'other' }, 7))
    at(m, 9_000, () => session.notify('line', 'delete', 8))
    const values = { w: 'waiting for other', h: `held 9 until ${9_000 + JITTER + 9_000}` }
    m.expect(states$(store), '^ 10s !').toBeObservable(`w ${9_000 + JITTER - 1}ms h`, values)
    at(m, 8_999, () => expect(sent()).toEqual([CLAIM, 'KEYNOTIFY', 'GET']))
  })

  marbleTest('a waiting lease emits every new holder once', m => {
    const { store, session } = leaseBench(m, { set: ['-5'], get: ['other 5'] })
    at(m, 1_000, () => session.notify('line', { set: 'other' }, 6))
    at(m, 2_000, () => session.notify('line', { set: 'third' }, 7))
    expect(transcript(m, states$(store), 3_000)).toEqual(['0 waiting for other', '2000 waiting for third'])
  })

  marbleTest('a waiting lease is requested after one duration without a change', m => {
    const { store, session } = leaseBench(m, { set: ['-5', '-6', '+7'], get: ['other 5'] })
    at(m, 5_000, () => session.notify('line', { set: 'other' }, 6))
    const silence = 9_000 + JITTER
    const third = 5_000 + 2 * silence
    expect(transcript(m, states$(store), third + 1)).toEqual([
      '0 waiting for other',
      `${third} held 7 until ${third + 9_000}`,
    ])
  })

  marbleTest('a waiting lease is requested when the lock key is found free after a reconnect', m => {
    const { store, session } = leaseBench(m, { set: ['-5', '+7'], get: ['other 5', ''] })
    at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
    at(m, 2_000, () => session.connect())
    const held = `${2_000 + JITTER} held 7 until ${2_000 + JITTER + 9_000}`
    expect(transcript(m, states$(store), 3_000)).toEqual(['0 waiting for other', held])
  })

  marbleTest('a lease that was never acquired sends no release', m => {
    const { store, sent } = leaseBench(m, { set: ['-5'], get: ['other 5'] })
    transcript(m, states$(store), 1_000)
    expect(sent()).toEqual([CLAIM, 'KEYNOTIFY', 'GET', 'KEYNOTIFY STOP'])
  })
})

describe('a lost lease', () => {
  marbleTest('a lease that is not renewed expires and is requested again', m => {
    const { store } = leaseBench(m, { set: ['+1', undefined, undefined, '+4'], get: ['me 1'] })
    const again = 9_000 + JITTER
    expect(transcript(m, states$(store), again + 1)).toEqual([
      '0 held 1 until 9000',
      '9000 lost: expired',
      `${again} held 4 until ${again + 9_000}`,
    ])
  })

  marbleTest('a lease expires on time while disconnected', m => {
    const { store, session } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'] })
    at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
    expect(transcript(m, states$(store), 20_000)).toEqual(['0 held 1 until 9000', '9000 lost: expired'])
  })

  marbleTest('a lease survives a short outage with its token, and renews when the watch is live again', m => {
    const { store, session, sent } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'] })
    at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
    at(m, 8_000, () => session.connect({ sessionPresent: true }))
    expect(transcript(m, states$(store), 8_500)).toEqual(['0 held 1 until 9000', '8000 held 1 until 17000'])
    expect(sent().slice(3)).toEqual(['KEYNOTIFY', 'GET', CLAIM, 'VDEL me', 'KEYNOTIFY STOP'])
  })

  marbleTest(
    'a lease is lost if its key was missing during an outage, since another holder may have used a newer token',
    m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+9'], get: ['me 1', ''] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      at(m, 5_000, () => session.connect())
      expect(transcript(m, states$(store), 6_000)).toEqual([
        '0 held 1 until 9000',
        '5000 lost: revoked',
        `${5_000 + JITTER} held 9 until ${5_000 + JITTER + 9_000}`,
      ])
    },
  )

  marbleTest(
    'a lease is lost if the key names its holder after an outage but was written by another write than a renewal',
    m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+9'], get: ['me 1', 'me 7'] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      at(m, 5_000, () => session.connect())
      expect(transcript(m, states$(store), 5_001)).toEqual(['0 held 1 until 9000', '5000 lost: revoked'])
    },
  )

  marbleTest(
    'a lease is lost if another client had the key in between, even if the notification follows a renewal',
    m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+9'], get: ['me 1'] })
      at(m, 3_500, () => session.notify('line', { set: 'guest' }, 5))
      expect(transcript(m, states$(store), 3_600)).toEqual([
        '0 held 1 until 9000',
        '3000 held 1 until 12000',
        '3500 lost: taken',
        '3500 waiting for guest',
      ])
    },
  )

  marbleTest('a lease is lost when a renewal is rejected because of another holder', m => {
    const { store } = leaseBench(m, { set: ['+1', '-5', '-5'], get: ['me 1'] })
    expect(transcript(m, states$(store), 3_500)).toEqual(['0 held 1 until 9000', '3000 lost: taken'])
  })

  marbleTest('a lease is lost as soon as the watch shows another holder', m => {
    const { store, session } = leaseBench(m, { set: ['+1', '-5'], get: ['me 1'] })
    at(m, 1_000, () => session.notify('line', { set: 'thief' }, 5))
    expect(transcript(m, states$(store), 2_000)).toEqual([
      '0 held 1 until 9000',
      '1000 lost: taken',
      '1000 waiting for thief',
    ])
  })

  marbleTest('a lease is lost as soon as its key is deleted, and is requested again', m => {
    const { store, session } = leaseBench(m, { set: ['+1', '+6'], get: ['me 1'] })
    at(m, 1_000, () => session.notify('line', 'delete', 5))
    const again = 1_000 + JITTER
    expect(transcript(m, states$(store), 2_000)).toEqual([
      '0 held 1 until 9000',
      '1000 lost: revoked',
      `${again} held 6 until ${again + 9_000}`,
    ])
  })

  marbleTest('a lease is not lost because of a notification from before its acquisition', m => {
    const { store, session } = leaseBench(m, { set: ['+10'], get: ['me 10'] })
    at(m, 1_000, () => session.notify('line', { set: 'former' }, 9))
    expect(transcript(m, states$(store), 2_000)).toEqual(['0 held 10 until 9000'])
  })

  marbleTest('a lease is lost when the wall clock jumps past its expiry, as after sleep', m => {
    const { store, wall } = leaseBench(m, { set: ['+1', '-5'], get: ['me 1'] })
    at(m, 1_000, () => {
      wall.ahead = 60_000
    })
    expect(transcript(m, states$(store), 3_001)).toEqual(['0 held 1 until 9000', '3000 lost: expired'])
  })

  marbleTest('a lease is not revived by a late response', m => {
    const { store } = leaseBench(m, { set: ['+1', '+2', '+3', '+4'], get: ['me 1'], delay: 7_000 })
    const again = 9_000 + JITTER + 7_000
    expect(transcript(m, states$(store), again + 1)).toEqual([
      '7000 held 1 until 9000',
      '9000 lost: expired',
      `${again} held 2 until ${9_000 + JITTER + 9_000}`,
    ])
  })
})
