import { map } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { lease } from '../../../src/client/lease/lease.js'
import type { LeaseOptions } from '../../../src/client/lease/lease-options.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'
import { at, inWords, JITTER, leaseBench, transcript } from '../../support/lease-bench.js'

const OPTIONS: LeaseOptions = { duration: 9_000, holder: 'me' }
const states$ = (store: ReturnType<typeof leaseBench>['store']) => lease(store, 'line', OPTIONS).pipe(map(inWords))
const CLAIM = 'SET me NEX PX 9000'

describe('a free lease', () => {
  it(
    'a lease sends nothing before it is subscribed',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['+1'] })
      lease(store, 'line', OPTIONS)
      m.flush()
      expect(sent()).toEqual([])
    }),
  )

  it(
    'a lease acquires, renews every third of its duration with one token, and releases',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['+1', '+2', '+3'], get: ['me 1'] })
      const held = {
        a: 'held 1 until 9000',
        b: 'held 1 until 12000',
        c: 'held 1 until 15000',
      }
      m.expect(states$(store), '^ 6999ms !').toBeObservable('a 2999ms b 2999ms c', held)
      m.flush()
      expect(sent()).toEqual([CLAIM, 'KEYNOTIFY', 'GET', CLAIM, CLAIM, 'VDEL me', 'KEYNOTIFY STOP'])
    }),
  )

  it(
    'a lease counts its duration from the sending of the request, not from the response',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'], delay: 1_000 })
      const values = { a: 'held 1 until 9000', b: 'held 1 until 12000' }
      // The first renewal is sent 3 s after the request, and its response takes another second.
      m.expect(states$(store), '^ 5500ms !').toBeObservable('1000ms a 2999ms b', values)
    }),
  )

  it(
    'a lease whose acquisition got a slow response is renewed before it expires',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'], frozenUntil: 8_000 })
      const values = { a: 'held 1 until 9000', b: 'held 1 until 17000' }
      m.expect(states$(store), '^ 10000ms !').toBeObservable('8000ms (ab)', values)
    }),
  )

  it(
    'a lease renews at the configured interval',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['+1', '+2', '+3', '+4'], get: ['me 1'] })
      lease(store, 'line', { ...OPTIONS, renewEvery: 1_000 })
        .subscribe()
        .add(() => undefined)
      const subscription = lease(store, 'other', { ...OPTIONS, renewEvery: 1_000 }).subscribe()
      at(m, 2_500, () => subscription.unsubscribe())
      at(m, 2_500, () => void store.close())
      m.flush()
      expect(sent().filter(words => words === CLAIM)).toHaveLength(6)
    }),
  )

  it(
    'a lease leaves no timer, request or registration after unsubscribe',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
      const subscription = states$(store).subscribe()
      at(m, 10, () => subscription.unsubscribe())
      // A remaining timer would keep this call from returning, as a lease renews forever.
      m.flush()
      expect(m.scheduler.actions).toEqual([])
    }),
  )

  it(
    'a lease has a different holder for each subscriber by default',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '-1'] })
      const line = lease(store, 'line', { duration: 9_000 })
      const both = [line.subscribe(), line.subscribe()]
      at(m, 10, () => {
        for (const one of both) one.unsubscribe()
      })
      m.flush()
      const holders = session.requests.filter(({ verb }) => verb === 'SET').map(({ rest }) => rest[0])
      expect(new Set(holders).size).toBe(2)
      for (const holder of holders) expect(holder).toMatch(/^spec\/[0-9a-f]{16}$/)
    }),
  )
})

describe('a lease that another client holds', () => {
  it(
    'a waiting lease watches the lock key and sends no requests',
    marbles(m => {
      const { store, session, sent } = leaseBench(m, { set: ['-5', '+9'], get: ['other 5'] })
      at(m, 4_000, () => session.notify('line', { set: 'other' }, 6))
      at(m, 8_000, () => session.notify('line', { set: 'other' }, 7))
      at(m, 9_000, () => session.notify('line', 'delete', 8))
      const values = { w: 'waiting for other', h: `held 9 until ${9_000 + JITTER + 9_000}` }
      m.expect(states$(store), '^ 10s !').toBeObservable(`w ${9_000 + JITTER - 1}ms h`, values)
      at(m, 8_999, () => expect(sent()).toEqual([CLAIM, 'KEYNOTIFY', 'GET']))
    }),
  )

  it(
    'a waiting lease emits every new holder once',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['-5'], get: ['other 5'] })
      at(m, 1_000, () => session.notify('line', { set: 'other' }, 6))
      at(m, 2_000, () => session.notify('line', { set: 'third' }, 7))
      expect(transcript(m, states$(store), 3_000)).toEqual(['0 waiting for other', '2000 waiting for third'])
    }),
  )

  it(
    'a waiting lease is requested after one duration without a change',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['-5', '-6', '+7'], get: ['other 5'] })
      at(m, 5_000, () => session.notify('line', { set: 'other' }, 6))
      const silence = 9_000 + JITTER
      const third = 5_000 + 2 * silence
      expect(transcript(m, states$(store), third + 1)).toEqual([
        '0 waiting for other',
        `${third} held 7 until ${third + 9_000}`,
      ])
    }),
  )

  it(
    'a waiting lease is requested when the lock key is found free after a reconnect',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['-5', '+7'], get: ['other 5', ''] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      at(m, 2_000, () => session.connect())
      const held = `${2_000 + JITTER} held 7 until ${2_000 + JITTER + 9_000}`
      expect(transcript(m, states$(store), 3_000)).toEqual(['0 waiting for other', held])
    }),
  )

  it(
    'a lease that was never acquired sends no release',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['-5'], get: ['other 5'] })
      transcript(m, states$(store), 1_000)
      expect(sent()).toEqual([CLAIM, 'KEYNOTIFY', 'GET', 'KEYNOTIFY STOP'])
    }),
  )
})

describe('a lost lease', () => {
  it(
    'a lease that is not renewed expires and is requested again',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1', undefined, undefined, '+4'], get: ['me 1'] })
      const again = 9_000 + JITTER
      expect(transcript(m, states$(store), again + 1)).toEqual([
        '0 held 1 until 9000',
        '9000 lost: expired',
        `${again} held 4 until ${again + 9_000}`,
      ])
    }),
  )

  it(
    'a lease expires on time while disconnected',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      expect(transcript(m, states$(store), 20_000)).toEqual(['0 held 1 until 9000', '9000 lost: expired'])
    }),
  )

  it(
    'a lease survives a short outage with its token, and renews when the watch is live again',
    marbles(m => {
      const { store, session, sent } = leaseBench(m, { set: ['+1', '+2'], get: ['me 1'] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      at(m, 8_000, () => session.connect(true))
      expect(transcript(m, states$(store), 8_500)).toEqual(['0 held 1 until 9000', '8000 held 1 until 17000'])
      expect(sent().slice(3)).toEqual(['KEYNOTIFY', 'GET', CLAIM, 'VDEL me', 'KEYNOTIFY STOP'])
    }),
  )

  it(
    'a lease is lost if its key was missing during an outage, since another holder may have used a newer token',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+9'], get: ['me 1', ''] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      at(m, 5_000, () => session.connect())
      expect(transcript(m, states$(store), 6_000)).toEqual([
        '0 held 1 until 9000',
        '5000 lost: revoked',
        `${5_000 + JITTER} held 9 until ${5_000 + JITTER + 9_000}`,
      ])
    }),
  )

  it(
    'a lease is lost if the key names its holder after an outage but was written by another write than a renewal',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+9'], get: ['me 1', 'me 7'] })
      at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
      at(m, 5_000, () => session.connect())
      expect(transcript(m, states$(store), 5_001)).toEqual(['0 held 1 until 9000', '5000 lost: revoked'])
    }),
  )

  it(
    'a lease is lost if another client had the key in between, even if the notification follows a renewal',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+9'], get: ['me 1'] })
      at(m, 3_500, () => session.notify('line', { set: 'guest' }, 5))
      expect(transcript(m, states$(store), 3_600)).toEqual([
        '0 held 1 until 9000',
        '3000 held 1 until 12000',
        '3500 lost: taken',
        '3500 waiting for guest',
      ])
    }),
  )

  it(
    'a lease is lost when a renewal is rejected because of another holder',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1', '-5', '-5'], get: ['me 1'] })
      expect(transcript(m, states$(store), 3_500)).toEqual(['0 held 1 until 9000', '3000 lost: taken'])
    }),
  )

  it(
    'a lease is lost as soon as the watch shows another holder',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '-5'], get: ['me 1'] })
      at(m, 1_000, () => session.notify('line', { set: 'thief' }, 5))
      expect(transcript(m, states$(store), 2_000)).toEqual([
        '0 held 1 until 9000',
        '1000 lost: taken',
        '1000 waiting for thief',
      ])
    }),
  )

  it(
    'a lease is lost as soon as its key is deleted, and is requested again',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1', '+6'], get: ['me 1'] })
      at(m, 1_000, () => session.notify('line', 'delete', 5))
      const again = 1_000 + JITTER
      expect(transcript(m, states$(store), 2_000)).toEqual([
        '0 held 1 until 9000',
        '1000 lost: revoked',
        `${again} held 6 until ${again + 9_000}`,
      ])
    }),
  )

  it(
    'a lease is not lost because of a notification from before its acquisition',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+10'], get: ['me 10'] })
      at(m, 1_000, () => session.notify('line', { set: 'former' }, 9))
      expect(transcript(m, states$(store), 2_000)).toEqual(['0 held 10 until 9000'])
    }),
  )

  it(
    'a lease is lost when the wall clock jumps past its expiry, as after sleep',
    marbles(m => {
      const { store, wall } = leaseBench(m, { set: ['+1', '-5'], get: ['me 1'] })
      at(m, 1_000, () => {
        wall.ahead = 60_000
      })
      expect(transcript(m, states$(store), 3_001)).toEqual(['0 held 1 until 9000', '3000 lost: expired'])
    }),
  )

  it(
    'a lease is not revived by a late response',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1', '+2', '+3', '+4'], get: ['me 1'], delay: 7_000 })
      const again = 9_000 + JITTER + 7_000
      expect(transcript(m, states$(store), again + 1)).toEqual([
        '7000 held 1 until 9000',
        '9000 lost: expired',
        `${again} held 2 until ${9_000 + JITTER + 9_000}`,
      ])
    }),
  )
})
