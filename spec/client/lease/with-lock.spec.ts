import { config, EMPTY, NEVER, Observable, of, Subject, take, tap } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/keys/codec.js'
import { LeaseLostError, type LeaseState } from '../../../src/client/lease/lease-state.js'
import { withLock } from '../../../src/client/lease/with-lock.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { marbleTest } from '../../support/marble-test.js'
import { fakeStore } from '../../support/operator-session.js'

const LOST = new LeaseLostError('expired', 'line')
const [ONE, TWO] = [new Hlc(1, 0, 'S'), new Hlc(2, 0, 'S')]
/** `a` and `b` hold the lease with different tokens; `A` is a renewal of `a`. */
const STATES: Record<string, LeaseState> = {
  a: { status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' },
  A: { status: 'held', token: ONE, expiresAtMonotonic: 20, holder: 'me' },
  b: { status: 'held', token: TWO, expiresAtMonotonic: 30, holder: 'me' },
  w: { status: 'waiting', holder: 'other' },
  l: { status: 'lost', cause: LOST },
}

const leaseOf = (m: Context, diagram: string) => m.cold<LeaseState>(diagram, STATES)

/** Resolves with the next error that RxJS reports, so that the error is not thrown in the event loop. */
function unhandledError(): Promise<unknown> {
  const { onUnhandledError } = config
  onTestFinished(() => {
    config.onUnhandledError = onUnhandledError
  })
  return new Promise(resolve => {
    config.onUnhandledError = resolve
  })
}

describe('withLock', () => {
  it.each([
    ['a key', fakeStore(() => NEVER).store.key('line', text), 'got a key'],
    ['a name', 'line', 'got `line`'],
    ['undefined', undefined, 'got `undefined`'],
  ])('throws: %s instead of a lease', (_, given, words) => {
    // @ts-expect-error no lease
    expect(() => withLock(given, () => of(1))).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(`^Expected a lease, .*${words}$`) }),
    )
  })

  it('awaiting runs the work and settles with its last value, or with undefined without a value', async () => {
    const held: LeaseState = { status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' }
    expect(await withLock(of(held), () => of(1, 2))).toBe(2)
    expect(await withLock(of(held), () => EMPTY)).toBe(undefined)
  })

  marbleTest('the work runs while the lease is held, and the lease is released when it completes', m => {
    const held = leaseOf(m, '--w--a---A--')
    const work = m.cold('          -x--y-|')
    m.expect(withLock(held, () => work)).toBeObservable('------x--y-|')
    m.expect(work).toHaveSubscriptions('                -----^-----!')
    m.expect(held).toHaveSubscriptions('                ^----------!')
  })

  marbleTest('operators between lease and work see every state before the work starts or stops', m => {
    const held = leaseOf(m, '--w--a---A--l--w--b--')
    const seen: string[] = []
    const shown$ = held.pipe(tap(({ status }) => seen.push(status)))
    const work = (): Observable<string> =>
      new Observable(() => {
        seen.push('work')
        return () => seen.push('end of work')
      })
    m.expect(withLock(shown$, work, { resume: true })).toBeObservable('---------------------')
    m.flush()
    const first = ['waiting', 'held', 'work', 'held', 'lost', 'end of work']
    expect(seen).toEqual([...first, 'waiting', 'held', 'work'])
  })

  marbleTest('the work receives the token once each time the lease is held', m => {
    const tokens: Hlc[] = []
    const work = (token: Hlc): Observable<never> => {
      tokens.push(token)
      return NEVER
    }
    m.expect(withLock(leaseOf(m, 'aA-l-b'), work, { resume: true }), '^-------!').toBeObservable('')
    m.flush()
    expect(tokens).toEqual([ONE, TWO])
  })

  marbleTest('losing the lease stops the work immediately and errors with the loss', m => {
    const held = leaseOf(m, 'a---l--')
    const work = m.cold('    -x-y-z-')
    m.expect(withLock(held, () => work)).toBeObservable('-x-y#', undefined, LOST)
    m.expect(work).toHaveSubscriptions('^---!')
    m.expect(held).toHaveSubscriptions('^---!')
  })

  marbleTest('with `resume`, the work restarts when the lease is held again', m => {
    const held = leaseOf(m, 'a--l--w--b----')
    const work = m.cold('    -x-y-|')
    m.expect(withLock(held, () => work, { resume: true })).toBeObservable('-x--------x-y-|')
    m.expect(work).toHaveSubscriptions(['^--!', '---------^----!'])
  })

  marbleTest('an error of the work ends withLock and releases the lease', m => {
    const held = leaseOf(m, 'a-----')
    m.expect(withLock(held, () => m.cold('-x#'))).toBeObservable('-x#')
    m.expect(held).toHaveSubscriptions('^-!')
  })

  marbleTest('an error that the work function throws ends withLock', m => {
    const held = leaseOf(m, '-a----')
    const work = (): Observable<never> => {
      throw 'error'
    }
    m.expect(withLock(held, work)).toBeObservable('-#')
    m.expect(held).toHaveSubscriptions('^!')
  })

  marbleTest('an error of the lease ends withLock', m => {
    const work = m.cold('-x----')
    m.expect(withLock(leaseOf(m, 'a--#'), () => work)).toBeObservable('-x-#')
    m.expect(work).toHaveSubscriptions('^--!')
  })

  marbleTest('withLock completes when the lease completes without having been held', m => {
    m.expect(withLock(leaseOf(m, 'w--|'), () => NEVER)).toBeObservable('---|')
  })

  marbleTest('the work may return any observable input, such as an array', m => {
    m.expect(withLock(leaseOf(m, '-a'), () => ['x', 'y'])).toBeObservable('-(xy|)')
  })

  it('the work stops before the lease is released', () => {
    const order: string[] = []
    const held = new Observable<LeaseState>(subscriber => {
      subscriber.next({ status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' })
      return () => order.push('lease')
    })
    const work = new Observable(() => () => order.push('work'))
    withLock(held, () => work)
      .subscribe()
      .unsubscribe()
    expect(order).toEqual(['work', 'lease'])
  })

  it('no work starts after earlier work unsubscribed withLock', () => {
    const states = new Subject<LeaseState>()
    const begun: Hlc[] = []
    const subscription = withLock(
      states,
      token => {
        begun.push(token)
        return of('done')
      },
      { resume: true },
    ).subscribe(() => subscription.unsubscribe())
    states.next({ status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' })
    states.next({ status: 'held', token: TWO, expiresAtMonotonic: 20, holder: 'me' })
    expect(begun).toEqual([ONE])
    expect(states.observed).toBe(false)
  })

  it('work that emits synchronously stops when the subscriber unsubscribes', () => {
    const subject = new Subject<LeaseState>()
    const held: LeaseState = { status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' }
    let done = 0
    const work$ = new Observable<number>(worker => {
      while (!worker.closed && done < 100) worker.next(++done)
    })
    const received: number[] = []
    withLock(subject, () => work$)
      .pipe(take(2))
      .subscribe(value => received.push(value))
    subject.next(held)
    expect({ heard: received, done, isHeld: subject.observed }).toEqual({ heard: [1, 2], done: 2, isHeld: false })
  })

  it('a throwing teardown of the work does not hide the loss or restart the work', async () => {
    const reported = unhandledError()
    const states = new Subject<LeaseState>()
    const errors: unknown[] = []
    let begun = 0
    const work = new Observable(() => {
      begun++
      return () => {
        throw new Error('teardown')
      }
    })
    withLock(states, () => work).subscribe({ error: error => errors.push(error) })
    states.next({ status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' })
    states.next({ status: 'lost', cause: LOST })
    expect({ errors, begun, observed: states.observed }).toEqual({ errors: [LOST], begun: 1, observed: false })
    expect(String(await reported)).toContain('teardown')
  })

  it('a throwing teardown does not prevent a restart when the lease is held again', async () => {
    const reported = unhandledError()
    const states = new Subject<LeaseState>()
    const begun: Hlc[] = []
    const work = (token: Hlc): Observable<never> =>
      new Observable(() => {
        begun.push(token)
        return () => {
          throw new Error('teardown')
        }
      })
    const subscription = withLock(states, work, { resume: true }).subscribe({ error: () => undefined })
    states.next({ status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' })
    states.next({ status: 'held', token: TWO, expiresAtMonotonic: 20, holder: 'me' })
    expect(begun).toEqual([ONE, TWO])
    expect(() => subscription.unsubscribe()).toThrow('teardown')
    expect(String(await reported)).toContain('teardown')
  })

  it('the work runs once for a lease that emits all states synchronously', () => {
    let begun = 0
    const held = { status: 'held', expiresAtMonotonic: 10, holder: 'me' } as const
    const states = of<LeaseState[]>(
      { ...held, token: ONE },
      { status: 'waiting', holder: 'x' },
      { ...held, token: TWO },
    )
    withLock(states, () => {
      begun++
      return of('done')
    }).subscribe()
    expect(begun).toBe(1)
  })

  it('anything but a function as work throws before a request is sent', () => {
    // @ts-expect-error as in untyped code that forgot the work
    expect(() => withLock(NEVER)).toThrow(ArgumentError)
  })

  it('the result of withLock has the type of the values of the work', () => {
    const either: Observable<number | string> = withLock(NEVER, token => (token.counter > 0 ? of(1) : ['a']))
    const promised: Observable<number> = withLock(NEVER, async () => 1)
    expect([either, promised]).toHaveLength(2)
  })
})
