import { map, NEVER, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { StateStore } from '../../../../src/client/connect/client.js'
import { type Codec, number, text } from '../../../../src/client/keys/codec.js'
import { json } from '../../../../src/client/keys/json.js'
import type { ErrorMode, OperatorOptions } from '../../../../src/client/keys/operators/operate.js'
import { deleteIf, deleteKey, set } from '../../../../src/client/keys/operators/operators.js'
import { ArgumentError, ConnectionLostError } from '../../../../src/core/util/errors.js'
import { record } from '../../../support/open-client.js'
import { KEY_FORMS, keyOf, STORE_FORMS } from '../../../support/operator-forms.js'
import { fakeStore } from '../../../support/operator-session.js'

const broken = new RangeError('out of order')

const toValue = (item: string): string => {
  if (item === '!') throw broken
  return item
}

const codec: Codec<string> = {
  encode(value) {
    if (value === '!') throw broken
    return text.encode(value)
  },
  decode: text.decode,
}

/** Runs without and with `latest`, where `keyOf` is called as soon as an item arrives. */
const VARIANTS = [{ latest: false }, { latest: true }]

type Run = (store: StateStore, options: OperatorOptions<ErrorMode>) => unknown[]

/** Returns an operator's results for the items: failures as key and error, the end of the stream as its error. */
const run =
  (items: readonly string[], form: (typeof STORE_FORMS)[number]['of']): Run =>
  (store, options) => {
    const seen: unknown[] = []
    of(...items)
      .pipe(form(store, options))
      .subscribe({
        next: result => seen.push('error' in result && !('op' in result) ? result : result.key),
        error: error => seen.push(error),
        complete: () => seen.push('complete'),
      })
    return seen
  }

describe.each(VARIANTS)('a `keyOf` function that throws, with %o', variant => {
  it.each(STORE_FORMS)('the error of `keyOf` ends $name', ({ of: form }) => {
    const { session, store } = fakeStore(() => of('v'))
    const seen = run(['a', '!', 'b'], form)(store, variant)
    expect(seen).toEqual(['key/a', new Error('no key for !')])
    expect(session.keys).toEqual(['key/a'])
  })

  it.each(STORE_FORMS)("with `onError: 'emit'`, $name emits a failure without a key and continues", ({ of: form }) => {
    const { store } = fakeStore(() => of('v'))
    const seen = run(['a', '!', 'b'], form)(store, { ...variant, onError: 'emit' })
    const error = expect.objectContaining({ code: 'argument', cause: new Error('no key for !') })
    expect(seen).toEqual(['key/a', { key: '', item: '!', error }, 'key/b', 'complete'])
  })
})

describe.each(VARIANTS)('a `keyOf` function that returns an invalid key, with %o', variant => {
  const empty = { code: 'argument', message: 'Expected the key to have at least one byte' }
  const form = (store: StateStore, options: OperatorOptions<ErrorMode>) =>
    deleteKey(store, (item: string) => item.slice(1), options)

  it('the stream ends with `argument`', () => {
    const { store } = fakeStore(() => of('v'))
    expect(run(['xa', 'x', 'xb'], form)(store, variant)).toEqual(['a', expect.objectContaining(empty)])
  })

  it("with `onError: 'emit'`, a failure is emitted", () => {
    const { store } = fakeStore(() => of('v'))
    const seen = run(['xa', 'x', 'xb'], form)(store, { ...variant, onError: 'emit' })
    expect(seen).toEqual(['a', { key: '', item: 'x', error: expect.objectContaining(empty) }, 'b', 'complete'])
  })
})

describe.each(VARIANTS)('a `toValue` function that throws, with %o', variant => {
  const forms = [
    { name: 'set', of: (store: StateStore, o: OperatorOptions<ErrorMode>) => set(store, () => 'k', toValue, o) },
    {
      name: 'deleteIf',
      of: (store: StateStore, o: OperatorOptions<ErrorMode>) => deleteIf(store, () => 'k', toValue, o),
    },
  ]

  it.each(forms)('the error of `toValue` ends $name', ({ of: form }) => {
    const { session, store } = fakeStore(() => of('v'))
    expect(run(['a', '!', 'b'], form)(store, variant)).toEqual(['k', broken])
    expect(session.requests).toHaveLength(1)
  })

  it.each(forms)("with `onError: 'emit'`, $name emits a failure of the key and continues", ({ of: form }) => {
    const { store } = fakeStore(() => of('v'))
    const seen = run(['a', '!', 'b'], form)(store, { ...variant, onError: 'emit' })
    const error = expect.objectContaining({ code: 'argument', cause: broken })
    expect(seen).toEqual(['k', { key: 'k', item: '!', error }, 'k', 'complete'])
  })
})

describe('a codec that throws', () => {
  const forms = [
    { name: 'set(key)', of: (store: StateStore, o: OperatorOptions<ErrorMode>) => set(store.key('k', codec), o) },
    {
      name: 'deleteIf(key)',
      of: (store: StateStore, o: OperatorOptions<ErrorMode>) => deleteIf(store.key('k', codec), o),
    },
    { name: 'set(store)', of: (store: StateStore, o: OperatorOptions<ErrorMode>) => set(store, () => 'k', codec, o) },
    {
      name: 'deleteIf(store)',
      of: (store: StateStore, o: OperatorOptions<ErrorMode>) => deleteIf(store, () => 'k', codec, o),
    },
  ]
  const error = expect.objectContaining({ code: 'argument', cause: broken })

  it.each(forms)('$name ends with `argument`, the key and the cause, as Key.set does', ({ of: form }) => {
    const { store } = fakeStore(() => of('v'))
    const [first, end] = run(['a', '!', 'b'], form)(store, {})
    expect(first).toBe('k')
    expect(end).toEqual(error)
    expect(end).toHaveProperty('message', expect.stringContaining('"k"'))
  })

  it.each(forms)("with `onError: 'emit'`, $name emits a failure of the key and continues", ({ of: form }) => {
    const { store } = fakeStore(() => of('v'))
    const seen = run(['a', '!', 'b'], form)(store, { onError: 'emit' })
    expect(seen).toEqual(['k', { key: 'k', item: '!', error }, 'k', 'complete'])
  })
})

describe('a value that the codec rejects', () => {
  it('the stream ends with `argument`, and nothing is sent', () => {
    const { session, store } = fakeStore(() => of('v'))
    const recording = record(of(Number.NaN).pipe(set(store.key('k', number))))
    expect(recording.error).toEqual(expect.any(ArgumentError))
    expect(session.requests).toEqual([])
  })

  it("with `onError: 'emit'`, a failure is emitted and the other items are written", () => {
    const { session, store } = fakeStore(() => of('v'))
    const { values } = record(
      of<unknown[]>(1, undefined, 2).pipe(set(store, () => 'k', json<unknown>(), { onError: 'emit' })),
    )
    const failure = { error: expect.objectContaining({ code: 'argument' }) }
    expect(values).toMatchObject([{ applied: true }, failure, { applied: true }])
    expect(session.requests.map(({ rest }) => rest[0])).toEqual(['1', '2'])
  })
})

describe('failures with `onError`', () => {
  it('a failure names the key of its request even if `keyOf` returns another key on each call', () => {
    const { session, store } = fakeStore(({ key }) => of(key === 'shard/1' ? '-ERR not authorized' : 'v'))
    let turn = 0
    const failed: string[] = []
    of('x', 'y', 'z')
      .pipe(
        set(store, () => `shard/${turn++}`, text, { onError: 'emit' }),
        map(result => ('error' in result ? `${result.key} failed` : result.key)),
      )
      .subscribe(key => failed.push(key))
    expect(session.keys).toEqual(['shard/0', 'shard/1', 'shard/2'])
    expect(failed).toEqual(['shard/0', 'shard/1 failed', 'shard/2'])
  })

  it('every item whose `keyOf` throws causes a failure, even with `latest`', () => {
    const first = new Subject<string>()
    const { store } = fakeStore(() => first)
    const seen: string[] = []
    of('a', '!', '!', '!')
      .pipe(set(store, keyOf, text, { onError: 'emit', latest: true, concurrency: 1 }))
      .subscribe(result => seen.push('error' in result ? result.error.code : result.key))
    first.next('v')
    expect(seen).toEqual(['key/a', 'argument', 'argument', 'argument'])
  })

  it("`onError: 'throw'` ends the stream on a rejected request", () => {
    const { store } = fakeStore(() => of('-ERR not authorized'))
    const recording = record(of('x').pipe(set(store.key('k', text), { onError: 'throw' })))
    expect(recording.error).toEqual(expect.objectContaining({ code: 'not-authorized', key: 'k' }))
  })

  it("an overflow still ends the stream with `onError: 'emit'`", () => {
    const { store } = fakeStore(() => NEVER)
    const recording = record(
      of('a', 'b', 'c').pipe(set(store, keyOf, text, { onError: 'emit', concurrency: 1, buffer: 1 })),
    )
    expect(recording.error).toEqual(expect.objectContaining({ code: 'overflow' }))
  })
})

describe('an operator with `latest`', () => {
  const FORMS = [...KEY_FORMS, ...STORE_FORMS]
  const lost = expect.objectContaining({ code: 'timeout' })

  it.each(FORMS)('continues after an outage: $name', ({ of: form, name }) => {
    const key = name.endsWith('(key)') ? 'k' : 'key/k'
    const { session, store, clock } = fakeStore(() => of('v'))
    const items = new Subject<string>()
    const seen: unknown[] = []
    items.pipe(form(store, { latest: true })).subscribe({
      next: result => seen.push('error' in result && !('op' in result) ? result : result.key),
      error: error => seen.push(error),
    })
    session.disconnect(new ConnectionLostError())
    items.next('k1')
    clock.advance(15_000)
    session.connect()
    items.next('k2')
    expect(seen).toEqual([{ key, item: 'k1', error: lost }, key])
  })

  it("ends with the first error if `onError: 'throw'` is set", () => {
    const { session, store, clock } = fakeStore(() => of('v'))
    session.disconnect(new ConnectionLostError())
    const recording = record(of('a').pipe(set(store.key('k', text), { latest: true, onError: 'throw' })))
    clock.advance(15_000)
    expect(recording.error).toEqual(lost)
  })

  it.each([
    '-ERR not authorized',
    '-ERR the request fencing token is a lower version than the fencing token protecting the resource',
  ])('ends with a permanent error: %s', answer => {
    const { session, store } = fakeStore(() => of(answer))
    const items = new Subject<string>()
    const recording = record(items.pipe(set(store.key('k', text), { latest: true })))
    items.next('a')
    items.next('b')
    expect(recording.error).toBeDefined()
    expect(session.requests).toHaveLength(1)
  })
})
