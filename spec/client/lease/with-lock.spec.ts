import { config, NEVER, Observable, of, Subject, take } from 'rxjs'
import { type Context, marbles } from 'rxjs-marbles'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/keys/codec.js'
import { LeaseLostError, type LeaseState } from '../../../src/client/lease/lease-state.js'
import { withLock } from '../../../src/client/lease/with-lock.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { fakeStore } from '../../support/operator-session.js'

const LOST = new LeaseLostError('expired', 'line')
const [ONE, TWO] = [new Hlc(1, 0, 'S'), new Hlc(2, 0, 'S')]
/** `a` and `b` are held with tokens of their own, `A` is a renewal of `a`. */
const STATES: Record<string, LeaseState> = {
  a: { status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' },
  A: { status: 'held', token: ONE, expiresAtMonotonic: 20, holder: 'me' },
  b: { status: 'held', token: TWO, expiresAtMonotonic: 30, holder: 'me' },
  w: { status: 'waiting', holder: 'other' },
  l: { status: 'lost', cause: LOST },
}

const leaseOf = (m: Context, diagram: string) => m.cold<LeaseState>(diagram, STATES)

/** What RxJS reports next, instead of throwing it into the event loop. */
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
    ['nothing', undefined, 'got `undefined`'],
  ])('is refused for %s in place of a lease', (_, given, words) => {
    // @ts-expect-error no lease
    expect(() => withLock(given, () => of(1))).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.stringMatching(`^Expected a lease, .*${words}$`) }),
    )
  })

  it(
    'does the work from when the lease is held until it completes, and then gives the lease back',
    marbles(m => {
      const held = leaseOf(m, '--w--a---A--')
      const work = m.cold('          -x--y-|')
      m.expect(withLock(held, () => work)).toBeObservable('------x--y-|')
      m.expect(work).toHaveSubscriptions('                -----^-----!')
      m.expect(held).toHaveSubscriptions('                ^----------!')
    }),
  )

  it(
    'tells the work its token, once per holding',
    marbles(m => {
      const tokens: Hlc[] = []
      const work = (token: Hlc): Observable<never> => {
        tokens.push(token)
        return NEVER
      }
      m.expect(withLock(leaseOf(m, 'aA-l-b'), work, { resume: true }), '^-------!').toBeObservable('')
      m.flush()
      expect(tokens).toEqual([ONE, TWO])
    }),
  )

  it(
    'stops the work the moment the lease is lost, and errors with the loss',
    marbles(m => {
      const held = leaseOf(m, 'a---l--')
      const work = m.cold('    -x-y-z-')
      m.expect(withLock(held, () => work)).toBeObservable('-x-y#', undefined, LOST)
      m.expect(work).toHaveSubscriptions('^---!')
      m.expect(held).toHaveSubscriptions('^---!')
    }),
  )

  it(
    'waits for the lease again and starts anew, when told to resume',
    marbles(m => {
      const held = leaseOf(m, 'a--l--w--b----')
      const work = m.cold('    -x-y-|')
      m.expect(withLock(held, () => work, { resume: true })).toBeObservable('-x--------x-y-|')
      m.expect(work).toHaveSubscriptions(['^--!', '---------^----!'])
    }),
  )

  it(
    'errors with the work, and gives the lease back',
    marbles(m => {
      const held = leaseOf(m, 'a-----')
      m.expect(withLock(held, () => m.cold('-x#'))).toBeObservable('-x#')
      m.expect(held).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'errors with what the function throws',
    marbles(m => {
      const held = leaseOf(m, '-a----')
      const work = (): Observable<never> => {
        throw 'error'
      }
      m.expect(withLock(held, work)).toBeObservable('-#')
      m.expect(held).toHaveSubscriptions('^!')
    }),
  )

  it(
    'errors with the lease',
    marbles(m => {
      const work = m.cold('-x----')
      m.expect(withLock(leaseOf(m, 'a--#'), () => work)).toBeObservable('-x-#')
      m.expect(work).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'completes with a lease that never was held',
    marbles(m => {
      m.expect(withLock(leaseOf(m, 'w--|'), () => NEVER)).toBeObservable('---|')
    }),
  )

  it(
    'takes promises and other inputs',
    marbles(m => {
      m.expect(withLock(leaseOf(m, '-a'), () => ['x', 'y'])).toBeObservable('-(xy|)')
    }),
  )

  it('stops the work before the lease is given back', () => {
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

  it('runs no work after it was unsubscribed by the work', () => {
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

  it('stops work that emits at once when somebody has heard enough', () => {
    const subject = new Subject<LeaseState>()
    const held: LeaseState = { status: 'held', token: ONE, expiresAtMonotonic: 10, holder: 'me' }
    let done = 0
    const work$ = new Observable<number>(worker => {
      while (!worker.closed && done < 100) worker.next(++done)
    })
    const heard: number[] = []
    withLock(subject, () => work$)
      .pipe(take(2))
      .subscribe(value => heard.push(value))
    subject.next(held)
    expect({ heard, done, isHeld: subject.observed }).toEqual({ heard: [1, 2], done: 2, isHeld: false })
  })

  it('errors with the loss although the teardown of the work throws, and does not begin again', async () => {
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

  it('begins the next holding although the teardown of the last one throws', async () => {
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

  it('does the work once for a lease that says everything at once', () => {
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

  it('refuses what is no work before anything is asked for', () => {
    // @ts-expect-error as in untyped code that forgot it
    expect(() => withLock(NEVER)).toThrow(ArgumentError)
  })

  it('has the type of whatever the work may emit', () => {
    const either: Observable<number | string> = withLock(NEVER, token => (token.counter > 0 ? of(1) : ['a']))
    const promised: Observable<number> = withLock(NEVER, async () => 1)
    expect([either, promised]).toHaveLength(2)
  })
})
