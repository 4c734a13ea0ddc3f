import { EMPTY, NEVER, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Codec, number, text } from '../../../../src/client/keys/codec.js'
import { json } from '../../../../src/client/keys/json.js'
import { get } from '../../../../src/client/keys/operators/operators.js'
import { Hlc } from '../../../../src/core/hlc/hlc.js'
import { DecodeError, TimeoutError } from '../../../../src/core/util/errors.js'
import { record } from '../../../support/open-client.js'
import { fakeStore } from '../../../support/operator-session.js'

const found = (value: string) =>
  of({ payload: `$${value.length}\r\n${value}\r\n`, properties: { __ts: '7:1:StateStore' } })
const VERSION = new Hlc(7, 1, 'StateStore')

describe('get(key)', () => {
  it('get reads the same key for every item', () => {
    const { session, store } = fakeStore(() => found('21.5'))
    record(of(1, 'two', undefined).pipe(get(store.key('setPoint', number))))
    expect(session.requests.map(({ verb, key, rest }) => [verb, key, ...rest])).toEqual([
      ['GET', 'setPoint'],
      ['GET', 'setPoint'],
      ['GET', 'setPoint'],
    ])
  })

  it('get emits the value with its version, and `snapshot` as the origin', () => {
    const { store } = fakeStore(() => found('21.5'))
    const { values: entries } = record(of('now').pipe(get(store.key('setPoint', number))))
    expect(entries).toEqual([{ key: 'setPoint', op: 'set', value: 21.5, version: VERSION, source: 'snapshot' }])
  })

  it('get emits an entry with op `absent` for an absent key', () => {
    const { store } = fakeStore(() => of('$-1'))
    const { values: entries } = record(of('now').pipe(get(store.key('setPoint', number))))
    expect(entries).toEqual([
      { key: 'setPoint', op: 'absent', value: undefined, version: undefined, source: 'snapshot', reason: 'unknown' },
    ])
  })

  it('get distinguishes an empty value from an absent key', () => {
    const { store } = fakeStore(() => found(''))
    const { values } = record(of('now').pipe(get(store.key('note', text))))
    expect(values).toMatchObject([{ op: 'set', value: '' }])
  })
})

describe('get(store)', () => {
  it('get reads the key of every item with the codec', () => {
    const { session, store } = fakeStore(({ key }) => found(`{"id":"${key}"}`))
    const values = record(of(1, 2).pipe(get(store, id => `asset/${id}`, json<{ id: string }>()))).values.map(
      ({ value }) => value?.id,
    )
    expect(session.keys).toEqual(['asset/1', 'asset/2'])
    expect(values).toEqual(['asset/1', 'asset/2'])
  })

  it('get accepts binary keys', () => {
    const { session, store } = fakeStore(() => found('x'))
    const keys = record(of(0xff, 0x80).pipe(get(store, byte => Uint8Array.of(byte), text))).values.map(({ key }) => key)
    expect({ sent: session.keys, keys }).toEqual({ sent: ['\xff', '\x80'], keys: ['0xFF', '0x80'] })
  })
})

describe('a failing get', () => {
  const notANumber = expect.objectContaining({ code: 'decode', key: 'a', version: '7:1:StateStore' })

  it('get errors with `decode` for a value that the codec cannot decode', () => {
    const { store } = fakeStore(() => found('warm'))
    const recording = record(of('a').pipe(get(store, key => key, number)))
    expect(recording.error).toEqual(notANumber)
    expect(recording.error).toBeInstanceOf(DecodeError)
  })

  it("get emits a decoding failure with `onError: 'emit'` and continues", () => {
    const { store } = fakeStore(({ key }) => found(key === 'a' ? 'warm' : '21.5'))
    const results = record(of('a', 'b').pipe(get(store, key => key, number, { onError: 'emit' }))).values.map(result =>
      'error' in result ? result : result.value,
    )
    expect(results).toEqual([{ key: 'a', item: 'a', error: notANumber }, 21.5])
  })

  it('get keeps the error of the codec as the cause', () => {
    const broken = new RangeError('no such thing')
    const codec: Codec<string> = {
      encode: text.encode,
      decode: () => {
        throw broken
      },
    }
    const { store } = fakeStore(() => found('x'))
    const recording = record(of('a').pipe(get(store.key('k', codec))))
    expect(recording.error).toEqual(expect.objectContaining({ code: 'decode', cause: broken }))
  })

  it('get errors with `payload` for a malformed response', () => {
    const { store } = fakeStore(() => of(':1'))
    const recording = record(of('a').pipe(get(store.key('k', text))))
    expect(recording.error).toEqual(expect.objectContaining({ code: 'payload' }))
  })

  it('get errors with `timeout` without a response', () => {
    const { store, clock } = fakeStore(() => NEVER)
    const recording = record(of('a').pipe(get(store.key('k', text), { timeout: 500 })))
    clock.advance(499)
    expect(recording.error).toBeUndefined()
    clock.advance(1)
    expect(recording.error).toEqual(expect.any(TimeoutError))
  })

  it("get emits timeout failures in source order with `onError: 'emit'`", () => {
    const { store, clock } = fakeStore(({ key }) => (key === 'b' ? found('x') : NEVER))
    const results: unknown[] = []
    of('a', 'b', 'c')
      .pipe(get(store, key => key, text, { onError: 'emit', timeout: 500 }))
      .subscribe(result => results.push('error' in result ? [result.key, result.error.name] : result.value))
    expect(results).toEqual([])
    clock.advance(500)
    expect(results).toEqual([['a', 'TimeoutError'], 'x', ['c', 'TimeoutError']])
  })

  it('get passes on an error of the source unchanged, whatever `onError` is', () => {
    const { store } = fakeStore(() => EMPTY)
    const errors: unknown[] = []
    for (const onError of ['throw', 'emit'] as const) {
      throwError(() => 'lost')
        .pipe(get(store.key('k', text), { onError }))
        .subscribe({ error: error => errors.push(error) })
    }
    expect(errors).toEqual(['lost', 'lost'])
  })

  it('get limits the message expiry to the maximum of MQTT, even for a longer timeout', () => {
    const { session, store } = fakeStore(() => NEVER)
    record(of('a').pipe(get(store.key('k', text), { timeout: Number.MAX_SAFE_INTEGER })))
    // The message expiry is a four-byte integer (MQTT 5.0, section 3.3.2.3.3), and mqtt.js closes the connection over a
    // larger one.
    expect(session.requests[0]?.expiry).toBeLessThanOrEqual(0xffff_ffff)
  })
})
