import { getEventListeners } from 'node:events'
import { defer, lastValueFrom, NEVER, Observable, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { AbortError } from '../../../src/client/index.js'
import { LeaseLostError, type LeaseState } from '../../../src/client/lease/lease-state.js'
import { type LockOptions, withLock } from '../../../src/client/lease/with-lock.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { record } from '../../support/open-client.js'

const LOST = new LeaseLostError('expired', 'line')
const held = (version: number): LeaseState => ({
  status: 'held',
  token: new Hlc(version, 0, 'S'),
  expiresAtMonotonic: 10,
  holder: 'me',
})

/** Opens a lease controlled by the spec, with work that never ends, and records the signals that the work receives. */
function open(options: LockOptions = {}, work: Observable<unknown> = NEVER) {
  const lease = new Subject<LeaseState>()
  const signals: AbortSignal[] = []
  const result = record(
    withLock(
      lease,
      (_, signal) => {
        signals.push(signal)
        return work
      },
      options,
    ),
  )
  return { lease, signals, result }
}

const reasons = (signals: readonly AbortSignal[]): unknown[] =>
  signals.map(({ aborted, reason }) => (aborted ? reason : 'works'))

describe('the signal passed to the work', () => {
  it('losing the lease aborts the signal at once, with the loss as the reason', () => {
    const { lease, signals, result } = open()
    lease.next(held(1))
    expect(reasons(signals)).toEqual(['works'])
    lease.next({ status: 'lost', cause: LOST })
    expect(reasons(signals)).toEqual([LOST])
    expect(result.error).toBe(LOST)
  })

  it('with `resume`, the work receives a new signal each time the lease is held', () => {
    const { lease, signals } = open({ resume: true })
    lease.next(held(1))
    lease.next({ status: 'lost', cause: LOST })
    lease.next(held(2))
    expect(reasons(signals)).toEqual([LOST, 'works'])
  })

  it('the signal of the work is unchanged when the lease is renewed', () => {
    const { lease, signals } = open()
    const state = held(1)
    for (const _ of [1, 2, 3]) lease.next(state)
    expect(reasons(signals)).toEqual(['works'])
  })

  it('the signal of the work is aborted when the caller unsubscribes', () => {
    const { lease, signals, result } = open()
    lease.next(held(1))
    result.unsubscribe()
    expect(reasons(signals)).toEqual([expect.any(AbortError)])
  })

  it.each([
    ['completes', of('done')],
    [
      'errors',
      defer(() => {
        throw new Error('work')
      }),
    ],
  ])('the signal of the work is not aborted when the work %s', (_, work) => {
    const { lease, signals } = open({}, work)
    lease.next(held(1))
    expect(reasons(signals)).toEqual(['works'])
    expect(lease.observed).toBe(false)
  })

  it('unsubscribing precedes the abort, so that errors caused by it are not emitted', () => {
    const lease = new Subject<LeaseState>()
    const work = (_: Hlc, signal: AbortSignal): Observable<never> =>
      new Observable(subscriber => signal.addEventListener('abort', () => subscriber.error(new Error('by the signal'))))
    const result = record(withLock(lease, work))
    lease.next(held(1))
    lease.next({ status: 'lost', cause: LOST })
    expect(result.error).toBe(LOST)
  })

  it('the signal of the work is aborted even if the teardown of the work throws', () => {
    const broken = new Observable(() => () => {
      throw new Error('teardown')
    })
    const { lease, signals, result } = open({}, broken)
    lease.next(held(1))
    expect(() => result.unsubscribe()).toThrow('teardown')
    expect(reasons(signals)).toEqual([expect.any(AbortError)])
  })

  it('the signal ends an async function that observes it, and withLock errors with the loss', async () => {
    const lease = new Subject<LeaseState>()
    const ended: unknown[] = []
    const stopped = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const work = async (_: Hlc, signal: AbortSignal): Promise<string> => {
      try {
        return await stopped(signal)
      } catch (error) {
        ended.push(error)
        throw error
      }
    }
    const result = expect(lastValueFrom(withLock(lease, work))).rejects.toBe(LOST)
    lease.next(held(1))
    lease.next({ status: 'lost', cause: LOST })
    await result
    expect(ended).toEqual([LOST])
  })
})

describe('the `signal` option of withLock', () => {
  it.each([
    ['waits for the lease', []],
    ['runs the work', [held(1)]],
  ])('aborting the `signal` option while withLock %s ends the work', (_, states) => {
    const aborter = new AbortController()
    const { lease, signals, result } = open({ signal: aborter.signal })
    for (const state of states) lease.next(state)
    aborter.abort('enough')
    expect(result.error).toMatchObject({ code: 'aborted', cause: 'enough' })
    expect(signals.every(({ aborted }) => aborted)).toBe(true)
    expect(lease.observed).toBe(false)
    expect(getEventListeners(aborter.signal, 'abort')).toEqual([])
  })

  it('an already aborted `signal` option prevents any request', () => {
    const { lease, result } = open({ signal: AbortSignal.abort() })
    expect(result.error).toMatchObject({ code: 'aborted' })
    expect(lease.observed).toBe(false)
  })

  it('withLock throws synchronously for an invalid signal', () => {
    // @ts-expect-error a controller is no signal
    expect(() => withLock(NEVER, () => NEVER, { signal: new AbortController() })).toThrow(
      expect.objectContaining({ code: 'argument' }),
    )
  })
})
