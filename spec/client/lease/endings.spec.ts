import { map } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { lease } from '../../../src/client/lease/lease.js'
import type { LeaseOptions } from '../../../src/client/lease/lease-options.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'
import { at, inWords, leaseBench, transcript } from '../../support/lease-bench.js'

const OPTIONS: LeaseOptions = { duration: 9_000, holder: 'me' }
const states$ = (store: ReturnType<typeof leaseBench>['store']) => lease(store, 'line', OPTIONS).pipe(map(inWords))

describe('a lease and a store that refuses', () => {
  it.each([
    ['-ERR not authorized', 'not-authorized'],
    ['-ERR a fencing token is required for this request', 'lock-key'],
    ['-ERR the request fencing token is a lower version than the fencing token protecting the resource', 'lock-key'],
  ])('errors with what cannot be mended: %s', (answer, code) =>
    marbles(m => {
      const { store } = leaseBench(m, { set: [answer] })
      expect(transcript(m, states$(store), 100)).toEqual([`0 error ${code}`])
    })(),
  )

  it.each([
    ['a full store', '-ERR the quota has been exceeded'],
    ['words nobody knows', '-ERR something new'],
    ['an answer that does not fit the request', '-ERR syntax error'],
    ['an answer that cannot be read', '*1'],
    ['no version, for that is the token', '+OK'],
  ])('asks again later for what may pass: %s', (_, answer) =>
    marbles(m => {
      const { store } = leaseBench(m, { set: [answer, answer, '+3'], get: [''] })
      const codes: string[] = []
      store.errors$.subscribe(({ code }) => codes.push(code))
      expect(transcript(m, states$(store), 100)).toEqual([expect.stringMatching(/^\d+ held 3 until/)])
      expect(codes).toHaveLength(2)
    })(),
  )

  it(
    'asks no more when it is left by whoever hears that it asks again later',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['-ERR the quota has been exceeded', '+3'], get: [''] })
      const subscription = lease(store, 'line', OPTIONS).subscribe()
      store.errors$.subscribe(() => subscription.unsubscribe())
      m.flush()
      expect(sent().filter(request => request.startsWith('SET'))).toHaveLength(1)
    }),
  )

  it(
    'is lost and errors when a renewal cannot be mended',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1', '-ERR not authorized'], get: ['me 1'] })
      expect(transcript(m, states$(store), 4_000)).toEqual([
        '0 held 1 until 9000',
        '3000 lost: ended',
        '3000 error not-authorized',
      ])
    }),
  )

  it(
    'errors when it may not watch the lock key',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['+1'], notify: '-ERR not authorized' })
      expect(transcript(m, states$(store), 4_000)).toEqual([
        '0 held 1 until 9000',
        '0 lost: ended',
        '0 error not-authorized',
      ])
      expect(sent()).toContain('VDEL me')
    }),
  )

  it.each([
    ['no text', '\xff\xfe'],
    ['empty', ''],
  ])('errors when the key holds a value that is no holder: %s', (_, value) =>
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['-5'], get: [`${value} 5`] })
      expect(transcript(m, states$(store), 100)).toEqual(['0 error lock-key'])
      expect(sent()).not.toContain('VDEL me')
    })(),
  )

  it(
    'is lost and errors when the key is overwritten by what is no holder',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
      at(m, 1_000, () => session.notify('line', { set: '' }, 5))
      expect(transcript(m, states$(store), 2_000)).toEqual([
        '0 held 1 until 9000',
        '1000 lost: taken',
        '1000 error lock-key',
      ])
    }),
  )
})

describe('a lease and the end of its client', () => {
  it(
    'is given back before the connection is closed',
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
      let closed = false
      at(m, 1_000, () => {
        void store.close()
        store.status$.subscribe({ complete: () => (closed = true) })
      })
      expect(transcript(m, states$(store), 2_000)).toEqual(['0 held 1 until 9000', '1000 lost: ended', '1000 complete'])
      expect(sent()).toContain('VDEL me')
      expect(closed).toBe(true)
    }),
  )

  it(
    'completes with a client that is closed while it waits',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['-5'], get: ['other 5'] })
      at(m, 1_000, () => void store.close())
      expect(transcript(m, states$(store), 2_000)).toEqual(['0 waiting for other', '1000 complete'])
    }),
  )

  it(
    'errors on a client that is closed already',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1'] })
      void store.close()
      expect(transcript(m, states$(store), 10)).toEqual(['0 error closed'])
    }),
  )

  it(
    'does not keep the client from closing when the store is silent',
    marbles(m => {
      const { store, session } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
      const subscription = states$(store).subscribe()
      let closedAt = -1
      at(m, 500, () => session.disconnect(new ConnectionLostError()))
      at(m, 1_000, () => {
        store.status$.subscribe({ complete: () => (closedAt = m.scheduler.now()) })
        void store.close()
      })
      at(m, 5_000, () => subscription.unsubscribe())
      m.flush()
      expect(closedAt).toBe(1_000)
    }),
  )
})
