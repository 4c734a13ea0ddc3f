import { from, NEVER, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, text } from '../../../../src/client/keys/codec.js'
import { json } from '../../../../src/client/keys/json.js'
import { set } from '../../../../src/client/keys/operators/operators.js'
import type { SetOptions } from '../../../../src/client/keys/options.js'
import { Hlc } from '../../../../src/core/hlc/hlc.js'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { ConnectionLostError } from '../../../../src/core/util/errors.js'
import { record } from '../../../support/open-client.js'
import { fakeStore } from '../../../support/operator-session.js'

interface Reading {
  readonly sensor: string
  readonly celsius: number
}

const READINGS: readonly Reading[] = [
  { sensor: 'a', celsius: 21 },
  { sensor: 'b', celsius: 19.5 },
]

const itself = (key: string | Uint8Array): string | Uint8Array => key
const sensorOf = ({ sensor }: Reading): string => sensor
const V1 = { payload: '+OK\r\n', properties: { __ts: '1696374425000:1:StateStore' } }

describe('set(key)', () => {
  it('set writes every item with the codec of the key', () => {
    const { session, store } = fakeStore(() => of('v'))
    record(of(21, 21.5, -1).pipe(set(store.key('setPoint', number))))
    expect(session.requests.map(({ verb, key, rest }) => [verb, key, ...rest])).toEqual([
      ['SET', 'setPoint', '21'],
      ['SET', 'setPoint', '21.5'],
      ['SET', 'setPoint', '-1'],
    ])
  })

  it('set emits the key, whether the write was applied, and its version', () => {
    const { store } = fakeStore(() => of(V1))
    const { values: results } = record(of(21).pipe(set(store.key('setPoint', number))))
    expect(results).toMatchObject([
      { key: 'setPoint', applied: true, version: new Hlc(1_696_374_425_000, 1, 'StateStore') },
    ])
  })

  it('set emits a failed condition as a result with the conflicting version', () => {
    const { store } = fakeStore(() => of({ payload: ':-1\r\n', properties: { __ts: '7:0:a' } }))
    const { values: results } = record(of(21).pipe(set(store.key('setPoint', number), { ifAbsent: true })))
    expect(results).toMatchObject([{ key: 'setPoint', applied: false, version: new Hlc(7, 0, 'a') }])
  })

  it.each<{ options: SetOptions; rest: string[]; properties: Record<string, string> }>([
    { options: {}, rest: [], properties: {} },
    { options: { ifAbsent: true }, rest: ['NX'], properties: {} },
    { options: { ifAbsentOrEqual: true }, rest: ['NEX'], properties: {} },
    { options: { expiresIn: 60_000 }, rest: ['PX', '60000'], properties: {} },
    { options: { ifAbsent: true, expiresIn: 1 }, rest: ['NX', 'PX', '1'], properties: {} },
    { options: { fencingToken: '7:1:lock' }, rest: [], properties: { __ft: '7:1:lock' } },
    { options: { fencingToken: new Hlc(7, 1, 'lock') }, rest: [], properties: { __ft: '7:1:lock' } },
    { options: { persist: true }, rest: [], properties: { 'aio-persistence': 'true' } },
    { options: { persist: false }, rest: [], properties: {} },
  ])('set sends $options with every write', ({ options, rest, properties }) => {
    const { session, store } = fakeStore(() => of('v'))
    record(of('x', 'y').pipe(set(store.key('k', text), options)))
    expect(session.requests.map(request => request.rest)).toEqual([
      ['x', ...rest],
      ['y', ...rest],
    ])
    for (const request of session.requests) {
      const { __ft, 'aio-persistence': persistence } = request.properties
      expect({ ...(__ft && { __ft }), ...(persistence && { 'aio-persistence': persistence }) }).toEqual(properties)
    }
  })

  it('set sends the timeout as message expiry in whole seconds', () => {
    const { session, store } = fakeStore(() => NEVER)
    record(of('x').pipe(set(store.key('k', text), { timeout: 2_500 })))
    of('x')
      .pipe(set(store.key('k', text)))
      .subscribe()
    expect(session.requests.map(({ expiry }) => expiry)).toEqual([3, 10])
  })

  it('set sends the items it received while disconnected after the reconnect, in order', () => {
    const { session, store } = fakeStore(() => of('v'))
    const source = new Subject<string>()
    let results = 0
    source.pipe(set(store.key('k', text))).subscribe(() => results++)
    session.disconnect(new ConnectionLostError())
    for (const item of ['x', 'y', 'z']) source.next(item)
    expect(session.requests).toEqual([])
    session.connect()
    expect(session.requests.map(({ rest }) => rest[0])).toEqual(['x', 'y', 'z'])
    expect(results).toBe(3)
  })

  it('set errors with `outcome-unknown` when the request times out', () => {
    const { store, clock } = fakeStore(() => NEVER)
    const recording = record(of('x').pipe(set(store.key('k', text), { timeout: 500 })))
    clock.advance(499)
    expect(recording.error).toBeUndefined()
    clock.advance(1)
    expect(recording.error).toEqual(expect.objectContaining({ code: 'outcome-unknown', key: 'k' }))
  })

  it('set starts the timeout of a write when the write is sent, not while it is queued', () => {
    const { session, store, clock } = fakeStore((_, nth) => (nth === 0 ? first : NEVER))
    const first = new Subject<string>()
    const recording = record(of('x', 'y').pipe(set(store.key('k', text), { timeout: 500, concurrency: 1 })))
    clock.advance(400)
    first.next('v')
    expect(session.requests).toHaveLength(2)
    clock.advance(499)
    expect(recording.error).toBeUndefined()
    clock.advance(1)
    expect(recording.error).toBeDefined()
  })
})

describe('set(store)', () => {
  it('set writes every item to its key with a codec', () => {
    const { session, store } = fakeStore(() => of('v'))
    record(from(READINGS).pipe(set(store, ({ sensor }) => `sensor/${sensor}`, json<Reading>())))
    expect(session.requests.map(({ key, rest }) => [key, ...rest])).toEqual([
      ['sensor/a', '{"sensor":"a","celsius":21}'],
      ['sensor/b', '{"sensor":"b","celsius":19.5}'],
    ])
  })

  it('set writes the text or bytes that a function returns for the item', () => {
    const { session, store } = fakeStore(() => of('v'))
    record(from(READINGS).pipe(set(store, sensorOf, ({ celsius }) => String(celsius))))
    record(from(READINGS).pipe(set(store, sensorOf, () => Uint8Array.of(0, 255))))
    record(from(READINGS).pipe(set(store, sensorOf, ({ celsius }) => number.encode(celsius))))
    const values = session.requests.map(({ rest }) => rest[0])
    expect(values).toEqual(['21', '19.5', '\0\xff', '\0\xff', '21', '19.5'])
  })

  it('set emits the key of every item, with binary keys in hex', () => {
    const { store } = fakeStore(() => of('v'))
    const keys$ = of<(string | Uint8Array)[]>('plain', utf8('größe'), Uint8Array.of(0xc3, 0x28))
    const { values } = record(keys$.pipe(set(store, itself, () => 'value')))
    expect(values).toMatchObject([{ key: 'plain' }, { key: 'größe' }, { key: '0xC328' }])
  })

  it('set sends its options with every write', () => {
    const { session, store } = fakeStore(() => of('v'))
    const options = { expiresIn: 5, fencingToken: '7:1:lock' }
    record(from(READINGS).pipe(set(store, sensorOf, () => 'x', options)))
    expect(session.requests.map(({ rest, properties }) => [...rest, properties['__ft']])).toEqual([
      ['x', 'PX', '5', '7:1:lock'],
      ['x', 'PX', '5', '7:1:lock'],
    ])
  })

  it('`latest` keeps the newest item per key, whether given as text or as bytes', () => {
    const { session, store } = fakeStore(() => NEVER)
    const items: [string | Uint8Array, string][] = [
      ['a', '1'],
      [utf8('a'), '2'],
      ['b', '1'],
    ]
    const keyOf = ([key]: (typeof items)[number]): string | Uint8Array => key
    record(from(items).pipe(set(store, keyOf, ([, value]) => value, { latest: true })))
    expect(session.requests.map(({ key, rest }) => [key, ...rest])).toEqual([
      ['a', '1'],
      ['b', '1'],
    ])
  })

  it('set with `latest` treats the text 0xFF and the byte FF as different keys', () => {
    const { session, store } = fakeStore(() => NEVER)
    const keys$ = of<(string | Uint8Array)[]>('0xFF', Uint8Array.of(0xff))
    record(keys$.pipe(set(store, itself, () => 'value', { latest: true })))
    expect(session.keys).toEqual(['0xFF', '\xff'])
  })
})
