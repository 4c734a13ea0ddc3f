// The types of keys and codecs, and code that the compiler must reject. It is compiled but never run.

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { map, type Observable } from 'rxjs'
import { expectTypeOf } from 'vitest'
import {
  type Awaitable,
  boolean,
  bytes,
  type ClientStats,
  type Codec,
  connect,
  type DecodeError,
  type DeleteResult,
  type Entry,
  type Freshness,
  type Hlc,
  json,
  Key,
  number,
  type Scan,
  type SetResult,
  StateStore,
  StateStoreError,
  type Status,
  type StoreRequest,
  set,
  text,
} from '../../src/client/index.js'

declare const store: StateStore
declare const asset: StandardSchemaV1<unknown, { name: string }>
declare const day: StandardSchemaV1<string, Date>
declare const error: unknown

export function keys(): void {
  expectTypeOf(store.key('k', bytes)).toEqualTypeOf<Key<Uint8Array>>()
  expectTypeOf(store.key('k', number)).toEqualTypeOf<Key<number>>()
  expectTypeOf(store.key(new Uint8Array(1), text)).toEqualTypeOf<Key<string>>()
  expectTypeOf(store.scan()).toEqualTypeOf<Scan<Uint8Array>>()
  expectTypeOf(store.scan('k*', number)).toExtend<Observable<Key<number>> & AsyncIterable<Key<number>>>()
  // @ts-expect-error options come after a codec
  store.scan('k*', { timeout: 1 })
  expectTypeOf(store.key('k', json(asset))).toEqualTypeOf<Key<{ name: string }>>()
  expectTypeOf(store.key('k', json<number[]>())).toEqualTypeOf<Key<number[]>>()
  // @ts-expect-error the codec is needed: bytes would come as a surprise
  store.key('k')
  // @ts-expect-error names need the codec of their values
  store.watchAll(['k'])
  // @ts-expect-error a codec, not the name of one
  store.key('k', 'number')
  // @ts-expect-error a codec, not a constructor
  store.key('k', Number)
  // @ts-expect-error json is a function that makes a codec
  store.key('k', json)
  // @ts-expect-error half a codec
  store.key('k', { encode: text.encode })
}

export function watching(): void {
  const key = store.key('k', number)
  expectTypeOf(key.value$).toEqualTypeOf<Observable<number | undefined>>()
  expectTypeOf(key.entries$).toEqualTypeOf<Observable<Entry<number>>>()
  expectTypeOf(key.freshness$).toEqualTypeOf<Observable<Freshness>>()
  expectTypeOf(key.errors$).toEqualTypeOf<Observable<DecodeError>>()
  expectTypeOf(key).toExtend<AsyncIterable<Entry<number>>>()
  expectTypeOf(key.entries()).toEqualTypeOf<AsyncIterator<Entry<number>, undefined> & AsyncIterable<Entry<number>>>()
  expectTypeOf(store.status$).toEqualTypeOf<Observable<Status>>()
  expectTypeOf(store.stats$).toEqualTypeOf<Observable<ClientStats>>()
  expectTypeOf(store.errors$).toEqualTypeOf<Observable<StateStoreError>>()
  key.value$.subscribe(value => {
    // @ts-expect-error there may be no such key
    value.toFixed()
  })
  key.freshness$.subscribe(freshness => {
    // @ts-expect-error only a stale value has a time
    freshness.since
    if (freshness.state === 'stale') expectTypeOf(freshness.since).toEqualTypeOf<number>()
  })
  store.status$.subscribe(status => {
    // @ts-expect-error an established connection has no cause
    status.cause
    // @ts-expect-error counts are in stats$, which may emit often
    status.synced
    if (status.state === 'reconnecting') expectTypeOf(status.cause).toEqualTypeOf<StateStoreError>()
    if (status.state === 'closed') expectTypeOf(status.cause).toEqualTypeOf<StateStoreError | undefined>()
  })
  // @ts-expect-error an observable is no value
  key.value$ = 21
  // @ts-expect-error only the client can feed a key
  key.value$.next(21)
}

export function requests(): void {
  const key = store.key('k', number)
  expectTypeOf(key.get()).toEqualTypeOf<StoreRequest<Entry<number>>>()
  expectTypeOf(key.set(1)).toEqualTypeOf<StoreRequest<SetResult>>()
  expectTypeOf(key.delete()).toEqualTypeOf<StoreRequest<DeleteResult>>()
  expectTypeOf(key.deleteIf(1)).toEqualTypeOf<StoreRequest<DeleteResult>>()
  expectTypeOf(store.get('k', text)).toEqualTypeOf<StoreRequest<Entry<string>>>()
  const { signal } = new AbortController()
  expectTypeOf(key.set(1, { signal, expiresIn: 5 })).toEqualTypeOf<StoreRequest<SetResult>>()
  // @ts-expect-error a signal, not its controller
  key.get({ signal: new AbortController() })
  // @ts-expect-error operators are ended by unsubscribing
  set(key, { signal })
  // @ts-expect-error a value is needed
  key.set()
  // @ts-expect-error to delete a key, use delete()
  key.set(undefined)
  // @ts-expect-error a codec is needed
  store.get('k')
  // @ts-expect-error the value does not fit the codec
  store.set('k', 'true', boolean)
  // @ts-expect-error milliseconds, not a Date
  key.set(1, { expiresIn: new Date() })
  expectTypeOf(key.set(1)).toExtend<Observable<SetResult>>()
  expectTypeOf(key.set(1).then(({ applied }) => applied)).toEqualTypeOf<Promise<boolean>>()
  expectTypeOf(key.get().catch(() => 'none' as const)).toEqualTypeOf<Promise<Entry<number> | 'none'>>()
  expectTypeOf<Awaited<StoreRequest<SetResult>>>().toEqualTypeOf<SetResult>()
  expectTypeOf(key.set(1).pipe(map(({ version }) => version))).toEqualTypeOf<Awaitable<Hlc | undefined>>()
  // @ts-expect-error keys are made by a store
  new Key('k', number)
  // @ts-expect-error stores are made by connect
  new StateStore('mqtt://localhost')
}

export function codecs(): void {
  expectTypeOf(json(asset)).toEqualTypeOf<Codec<{ name: string }>>()
  expectTypeOf(json(day)).toEqualTypeOf<Codec<Date>>()
  expectTypeOf(json<string>()).toEqualTypeOf<Codec<string>>()
  expectTypeOf(bytes).toEqualTypeOf<Codec<Uint8Array>>()
  // @ts-expect-error the type of the values must be given: without it they are unknown
  json().decode(new Uint8Array()).name
  // @ts-expect-error a schema follows the Standard Schema specification
  json({ type: 'object' })
  // @ts-expect-error a codec encodes to bytes, not to text
  const toText: Codec<string> = { encode: value => value, decode: text.decode }
  // @ts-expect-error a codec decodes bytes, not text
  const ofText: Codec<string> = { encode: text.encode, decode: (stored: string) => stored }
  expectTypeOf([toText, ofText]).toEqualTypeOf<Codec<string>[]>()
}

export async function connecting(): Promise<void> {
  expectTypeOf(connect('mqtt://localhost')).toEqualTypeOf<StateStore>()
  expectTypeOf(connect({ url: 'mqtt://localhost', timeout: 5 })).toEqualTypeOf<StateStore>()
  // @ts-expect-error a broker is needed
  connect()
  // @ts-expect-error options need a URL
  connect({ clientId: 'panel-7' })
  // @ts-expect-error an option that does not exist
  connect('mqtt://localhost', { client: 'panel-7' })
  // @ts-expect-error PEM is text
  connect('mqtts://localhost', { ca: new Uint8Array() })
  await using own = connect('mqtt://localhost')
  expectTypeOf(own).toEqualTypeOf<StateStore>()
}

export function errors(): void {
  if (!(error instanceof StateStoreError)) return
  // @ts-expect-error a code that does not exist
  if (error.code === 'time-out') return
  // @ts-expect-error a code does not change
  error.code = 'timeout'
}
