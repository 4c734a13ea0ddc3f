import { repeat } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { lease } from '../../../src/client/lease/lease.js'
import { leaseBench } from '../../support/lease-bench.js'

const TERMS = { duration: 9_000, holder: 'me' }

describe('a lease asked for while the client is being closed', () => {
  it(
    'is refused, for nobody would give it back',
    marbles(m => {
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
    }),
  )

  it(
    'does not keep the client from closing, however often it is asked for',
    marbles(m => {
      const { store } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
      const codes: string[] = []
      let closed = false
      // More often than anybody needs, so that the test ends when the loop would not.
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
    }),
  )
})

describe('an attempt to acquire while the client is being closed', () => {
  it(
    'is refused, for it would be left behind',
    marbles(m => {
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
    }),
  )
})

describe('a lease that somebody else took', () => {
  it(
    'is given back nevertheless, for a renewal on its way may have made it ours again',
    marbles(m => {
      const { store, session, sent } = leaseBench(m, { set: ['+1', undefined], get: ['me 1'] })
      const subscription = lease(store, 'lock', TERMS).subscribe()
      m.scheduler.schedule(() => session.notify('lock', { set: 'other' }, 2), 3_500)
      m.scheduler.schedule(() => subscription.unsubscribe(), 3_600)
      m.flush()
      expect(sent().filter(request => request.startsWith('VDEL'))).toEqual(['VDEL me'])
    }),
  )
})

describe('a lease that was just let go', () => {
  it.each([
    ['waits for the answer of the store', 10, 1_010, []],
    ['does not wait longer than a second, and says so', undefined, 2_000, ['outcome-unknown']],
  ])('keeps the client from closing: %s', (_, delay, closing, reported) =>
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
