import { repeat } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { lease } from '../../../src/client/lease/lease.js'
import { leaseBench } from '../../support/lease-bench.js'
import { marbleTest } from '../../support/marble-test.js'

const TERMS = { duration: 9_000, holder: 'me' }

describe('a lease requested while the client is closing', () => {
  marbleTest('a lease on a closing client errors, since it would never be released', m => {
    const { store, sent } = leaseBench(m, { set: ['+1', '+3'], get: ['me 1'], delay: 10 })
    const codes: string[] = []
    const again = (): void =>
      void lease(store, 'lock', { duration: 9_000 }).subscribe({ error: ({ code }) => codes.push(code) })
    lease(store, 'lock', TERMS).subscribe({ complete: again })
    m.scheduler.schedule(() => void store.close(), 1_000)
    m.scheduler.schedule(again, 1_005)
    m.flush()
    expect(codes).toEqual(['closed', 'closed'])
    expect(sent().filter(request => request.startsWith('SET'))).toHaveLength(1)
    expect(sent()).toContain('VDEL me')
  })

  marbleTest('a lease that is requested repeatedly does not keep its client from closing', m => {
    const { store } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
    const codes: string[] = []
    let closed = false
    // The retries are limited, so that the test ends even if the client loops.
    lease(store, 'lock', TERMS)
      .pipe(repeat(1_000))
      .subscribe({ error: ({ code }) => codes.push(code) })
    store.status$.subscribe({
      complete: () => {
        closed = true
      },
    })
    m.scheduler.schedule(() => void store.close(), 1_000)
    m.flush()
    expect({ codes, closed }).toEqual({ codes: ['closed'], closed: true })
  })
})

describe('tryAcquire while the client is closing', () => {
  marbleTest('tryAcquire on a closing client errors, since the lease would never be released', m => {
    const { store, sent } = leaseBench(m, { set: ['+1'], get: ['me 1'], delay: 10 })
    const codes: string[] = []
    lease(store, 'lock', TERMS).subscribe()
    m.scheduler.schedule(() => void store.close(), 1_000)
    m.scheduler.schedule(
      () =>
        void lease(store, 'other', TERMS)
          .tryAcquire()
          .subscribe({ error: ({ code }) => codes.push(code) }),
      1_005,
    )
    m.flush()
    expect(codes).toEqual(['closed'])
    expect(sent().filter(request => request.startsWith('SET'))).toHaveLength(1)
  })
})

describe('a lease taken by another holder', () => {
  marbleTest(
    'a lease taken by another holder is still released, since a renewal in flight may have acquired it again',
    m => {
      const { store, session, sent } = leaseBench(m, { set: ['+1', undefined], get: ['me 1'] })
      const subscription = lease(store, 'lock', TERMS).subscribe()
      m.scheduler.schedule(() => session.notify('lock', { set: 'other' }, 2), 3_500)
      m.scheduler.schedule(() => subscription.unsubscribe(), 3_600)
      m.flush()
      expect(sent().filter(request => request.startsWith('VDEL'))).toEqual(['VDEL me'])
    },
  )
})

describe('a lease released just before closing', () => {
  it.each([
    ['until the store responds', 10, 1_010, []],
    ['for at most a second, and reports that', undefined, 2_000, ['outcome-unknown']],
  ])('releasing a lease delays closing: %s', (_, delay, closing, reported) =>
    marbles(m => {
      const { store, sent } = leaseBench(m, {
        set: ['+1'],
        get: ['me 1'],
        ...(delay ? { delay } : { vdel: 'silence' }),
      })
      const errors: string[] = []
      let closedAt = -1
      store.errors$.subscribe(({ code }) => errors.push(code))
      store.status$.subscribe({ complete: () => (closedAt = m.scheduler.now()) })
      const subscription = lease(store, 'lock', TERMS).subscribe()
      m.scheduler.schedule(() => subscription.unsubscribe(), 1_000)
      m.scheduler.schedule(() => void store.close(), 1_000)
      m.flush()
      expect(sent()).toContain('VDEL me')
      expect(errors).toEqual(reported)
      expect(closedAt).toBe(closing)
    })(),
  )
})
