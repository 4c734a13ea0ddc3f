import { catchError, interval, map, NEVER, of, Subject, take, tap } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import type { ErrorMode, OperatorOptions } from '../../../../src/client/keys/operators/operate.js'
import { StateStoreError } from '../../../../src/core/util/errors.js'
import { marbleTest } from '../../../support/marble-test.js'
import { asWords, type Form, KEY_FORMS, STORE_FORMS } from '../../../support/operator-forms.js'
import { fakeStore } from '../../../support/operator-session.js'

const codeOf = catchError((error: unknown) => of(error instanceof StateStoreError ? error.code : 'no error of ours'))

/** Opens a store that answers the nth request by the nth diagram, and one of the operators on that store. */
function open(m: Context, form: Form, answers: readonly string[], options: OperatorOptions<ErrorMode> = {}) {
  const values = { n: '-ERR not authorized' }
  const fake = fakeStore((_, nth) => m.cold<string>(answers[nth] ?? '-', { a: 'a', b: 'b', c: 'c', d: 'd', ...values }))
  return { ...fake, operator: form.of(fake.store, options) }
}

describe.each([...KEY_FORMS, ...STORE_FORMS])('$name', form => {
  marbleTest('an operator does not complete before its source', m => {
    const { operator, session } = open(m, form, [])
    const source = m.cold<string>('-')
    m.equal(source.pipe(operator, asWords), '-')
    m.expect(source).toHaveSubscriptions('^')
    m.flush()
    expect(session.requests).toEqual([])
  })

  marbleTest('an operator completes with an empty source without a request', m => {
    const { operator, session } = open(m, form, [])
    const source = m.cold<string>('--|')
    m.equal(source.pipe(operator, asWords), '--|')
    m.expect(source).toHaveSubscriptions('^-!')
    m.flush()
    expect(session.requests).toEqual([])
  })

  marbleTest('an operator sends one request per item', m => {
    const { operator, session } = open(m, form, ['--a'])
    const source = m.cold<string>('-x|')
    m.equal(source.pipe(operator, asWords), '---(a|)')
    m.expect(source).toHaveSubscriptions('^-!')
    m.flush()
    expect(session.requests.map(({ verb }) => verb)).toEqual([form.verb])
  })

  marbleTest('an operator emits results in source order even if responses arrive in another order', m => {
    const { operator, clock } = open(m, form, ['-----a', '-b', '-------c', '-d'])
    const source = m.cold<string>('xxxx---------|')
    m.equal(source.pipe(operator, asWords), '-----(ab)(cd)|')
    m.flush()
    expect(clock.pending).toBe(0)
  })

  marbleTest('an operator has at most `concurrency` requests in flight', m => {
    const { operator, session } = open(m, form, ['-----a', '-----b', '--c'], { concurrency: 2 })
    const sent: number[] = []
    const source = m.hot<string>(' xyz---------|').pipe(tap(() => sent.push(session.requests.length)))
    const result = source.pipe(
      operator,
      asWords,
      tap(() => sent.push(session.requests.length)),
    )
    m.equal(result, '            -----abc----|')
    m.flush()
    // The three items arrive after 0, 1 and 2 requests; the first result after 2, and the others after 3.
    expect(sent).toEqual([0, 1, 2, 2, 3, 3])
  })

  marbleTest('an operator passes on an error of the source immediately and cancels requests in flight', m => {
    const { operator, clock } = open(m, form, ['------a'])
    const source = m.cold<string>('x-#')
    m.equal(source.pipe(operator, asWords), '--#')
    m.expect(source).toHaveSubscriptions('^-!')
    m.flush()
    expect(clock.pending).toBe(0)
  })

  marbleTest('an operator ends with the error of a request immediately and cancels the other requests', m => {
    const { operator, clock } = open(m, form, ['------a', '-n'])
    const source = m.cold<string>('xx---|')
    m.equal(source.pipe(operator, asWords, codeOf), '--(e|)', { e: 'not-authorized' })
    m.expect(source).toHaveSubscriptions('^-!')
    m.flush()
    expect(clock.pending).toBe(0)
  })

  marbleTest("an operator emits a failure for a rejected request with `onError: 'emit'`, and continues", m => {
    const { operator, session } = open(m, form, ['---a', '-n', '-c'], { onError: 'emit' })
    const source = m.cold<string>('xxx-----|')
    m.equal(source.pipe(operator, asWords), '---(aec)|', {
      a: 'a',
      e: form.name.includes('store') ? 'key/x: not-authorized' : 'k: not-authorized',
      c: 'c',
    })
    m.flush()
    expect(session.requests).toHaveLength(3)
  })

  marbleTest('an operator cancels its requests on unsubscribe and starts no queued request', m => {
    const { operator, clock, session } = open(m, form, ['------a'], { concurrency: 1 })
    const source = m.cold<string>('xx---|')
    m.expect(source.pipe(operator, asWords), '^-!').toBeObservable('---')
    m.expect(source).toHaveSubscriptions('^-!')
    m.flush()
    expect({ requests: session.requests.length, timers: clock.pending }).toEqual({ requests: 1, timers: 0 })
  })

  marbleTest('an operator emits the results of an endless source until it is unsubscribed', m => {
    const { operator, clock, session } = open(m, form, ['a', '-b', 'c'])
    const source = interval(2).pipe(map(String), operator, asWords)
    m.expect(source, '^------!').toBeObservable('--a--bc-')
    m.flush()
    expect({ requests: session.requests.length, timers: clock.pending }).toEqual({ requests: 3, timers: 0 })
  })

  marbleTest('an operator with `latest` has one request of a key in flight and keeps the newest item', m => {
    const { operator, session } = open(m, form, ['-----a', '--d'], { latest: true })
    const items = { 1: 'x1', 2: 'x2', 3: 'x3', 4: 'x4' }
    m.equal(m.cold<string>('1234|', items).pipe(operator, asWords), '-----a-(d|)')
    m.flush()
    expect(session.requests).toHaveLength(2)
    if (form.verb === 'SET' || form.verb === 'VDEL') {
      expect(session.requests.map(({ rest }) => rest[0])).toEqual(['x1', 'x4'])
    }
  })

  it('an operator does nothing until it is subscribed, and runs again for every subscriber', () => {
    const { session, store } = fakeStore(() => of('a'))
    const result = of('x').pipe(form.of(store, {}), asWords)
    expect(session.requests).toEqual([])
    const results: string[] = []
    result.subscribe(word => results.push(word))
    result.subscribe(word => results.push(word))
    expect({ results, requests: session.requests.length }).toEqual({ results: ['a', 'a'], requests: 2 })
  })

  it('an operator accepts items that a subscriber pushes into the source', () => {
    const { session, store } = fakeStore(() => of('a'))
    const source = new Subject<string>()
    let results = 0
    source.pipe(form.of(store, { concurrency: 1 })).subscribe(() => {
      if (++results < 3) source.next('x')
      else source.complete()
    })
    source.next('x')
    expect({ results, requests: session.requests.length }).toEqual({ results: 3, requests: 3 })
  })

  it('an operator sends nothing more when a subscriber unsubscribes on a synchronous result', () => {
    const { session, store } = fakeStore(() => of('a'))
    const source = new Subject<string>()
    source.pipe(form.of(store, {}), take(2)).subscribe()
    for (const item of ['x', 'y', 'z']) source.next(item)
    expect({ requests: session.requests.length, observed: source.observed }).toEqual({ requests: 2, observed: false })
  })

  it('an operator fails with `overflow` when more than `buffer` items are queued', () => {
    const { store } = fakeStore(() => NEVER)
    const source = new Subject<string>()
    const codes: string[] = []
    source.pipe(form.of(store, { concurrency: 1, buffer: 1 }), codeOf).subscribe(code => codes.push(String(code)))
    source.next('x')
    source.next('y')
    expect(codes).toEqual([])
    source.next('z')
    expect(codes).toEqual(['overflow'])
  })

  it('an operator fails with `closed` when the client is closed', async () => {
    const { store } = fakeStore(() => of('a'))
    await store.close()
    const codes: unknown[] = []
    of('x')
      .pipe(form.of(store, {}), codeOf)
      .subscribe(code => codes.push(code))
    expect(codes).toEqual(['closed'])
  })

  it.each([
    { concurrency: 0 },
    { concurrency: -1 },
    { concurrency: 1.5 },
    { concurrency: Number.NaN },
    { concurrency: Number.POSITIVE_INFINITY },
    { buffer: 0 },
    { buffer: 0.5 },
    { buffer: Number.NaN },
  ])('an operator throws `argument` synchronously for %o', options => {
    const { store } = fakeStore(() => NEVER)
    const [[name, value] = ['', 0]] = Object.entries(options)
    expect(() => form.of(store, options)).toThrow(
      expect.objectContaining({
        code: 'argument',
        message: `Expected \`${name}\` to be a positive integer up to 2^53 - 1, got \`${value}\` (number)`,
      }),
    )
  })
})
