import { map } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { lease } from '../../../src/client/lease/lease.js'
import type { LeaseOptions } from '../../../src/client/lease/lease-options.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'
import { at, inWords, leaseBench, transcript } from '../../support/lease-bench.js'
import { marbleTest } from '../../support/marble-test.js'

const OPTIONS: LeaseOptions = { duration: 9_000, holder: 'me' }
const states$ = (store: ReturnType<typeof leaseBench>['store']) => lease(store, 'line', OPTIONS).pipe(map(inWords))

describe('a lease whose requests the store rejects', () => {
  it.each([
    ['-ERR not authorized', 'not-authorized'],
    ['-ERR a fencing token is required for this request', 'lock-key'],
    ['-ERR the request fencing token is a lower version than the fencing token protecting the resource', 'lock-key'],
  ])('a permanent error ends the lease: %s', (answer, code) =>
    marbles(m => {
      const { store } = leaseBench(m, { set: [answer] })
      expect(transcript(m, states$(store), 100)).toEqual([`0 error ${code}`])
    })(),
  )

  it.each([
    ['a full store', '-ERR the quota has been exceeded'],
    ['an unknown error', '-ERR something new'],
    ['a response that does not fit the request', '-ERR syntax error'],
    ['a malformed response', '*1'],
    ['a response without the version that serves as the token', '+OK'],
  ])('a transient error is retried: %s', (_, answer) =>
    marbles(m => {
      const { store } = leaseBench(m, { set: [answer, answer, '+3'], get: [''] })
      const codes: string[] = []
      store.errors$.subscribe(({ code }) => codes.push(code))
      expect(transcript(m, states$(store), 100)).toEqual([expect.stringMatching(/^\d+ held 3 until/)])
      expect(codes).toHaveLength(2)
    })(),
  )

  marbleTest('unsubscribing in the handler of the reported error stops the retries', m => {
    const { store, sent } = leaseBench(m, { set: ['-ERR the quota has been exceeded', '+3'], get: [''] })
    const subscription = lease(store, 'line', OPTIONS).subscribe()
    store.errors$.subscribe(() => subscription.unsubscribe())
    m.flush()
    expect(sent().filter(request => request.startsWith('SET'))).toHaveLength(1)
  })

  marbleTest('a permanent error of a renewal loses and ends the lease', m => {
    const { store } = leaseBench(m, { set: ['+1', '-ERR not authorized'], get: ['me 1'] })
    expect(transcript(m, states$(store), 4_000)).toEqual([
      '0 held 1 until 9000',
      '3000 lost: ended',
      '3000 error not-authorized',
    ])
  })

  marbleTest('a rejected watch of the lock key ends the lease', m => {
    const { store, sent } = leaseBench(m, { set: ['+1'], notify: '-ERR not authorized' })
    expect(transcript(m, states$(store), 4_000)).toEqual([
      '0 held 1 until 9000',
      '0 lost: ended',
      '0 error not-authorized',
    ])
    expect(sent()).toContain('VDEL me')
  })

  it.each([
    ['not text', '\xff\xfe'],
    ['empty', ''],
  ])('an invalid holder in the lock key ends the lease: %s', (_, value) =>
    marbles(m => {
      const { store, sent } = leaseBench(m, { set: ['-5'], get: [`${value} 5`] })
      expect(transcript(m, states$(store), 100)).toEqual(['0 error lock-key'])
      expect(sent()).not.toContain('VDEL me')
    })(),
  )

  marbleTest('an invalid value written to the lock key loses and ends the lease', m => {
    const { store, session } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
    at(m, 1_000, () => session.notify('line', { set: '' }, 5))
    expect(transcript(m, states$(store), 2_000)).toEqual([
      '0 held 1 until 9000',
      '1000 lost: taken',
      '1000 error lock-key',
    ])
  })
})

describe('a lease and the end of its client', () => {
  marbleTest('closing the client releases the lease before disconnecting', m => {
    const { store, sent } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
    let closed = false
    at(m, 1_000, () => {
      void store.close()
      store.status$.subscribe({ complete: () => (closed = true) })
    })
    expect(transcript(m, states$(store), 2_000)).toEqual(['0 held 1 until 9000', '1000 lost: ended', '1000 complete'])
    expect(sent()).toContain('VDEL me')
    expect(closed).toBe(true)
  })

  marbleTest('closing the client completes a lease that waits for its holder', m => {
    const { store } = leaseBench(m, { set: ['-5'], get: ['other 5'] })
    at(m, 1_000, () => void store.close())
    expect(transcript(m, states$(store), 2_000)).toEqual(['0 waiting for other', '1000 complete'])
  })

  marbleTest('a lease on a closed client errors with `closed`', m => {
    const { store } = leaseBench(m, { set: ['+1'] })
    void store.close()
    expect(transcript(m, states$(store), 10)).toEqual(['0 error closed'])
  })

  marbleTest('a store that does not respond does not keep the client from closing', m => {
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
  })
})
