// The types of operators, and code that the compiler must reject. It is compiled but never run.

import { firstValueFrom, type Observable, of } from 'rxjs'
import { expectTypeOf } from 'vitest'
import {
  type DecodeError,
  type DeleteResult,
  deleteIf,
  deleteKey,
  type Failure,
  type Hlc,
  type ItemResult,
  json,
  type Key,
  number,
  type SetResult,
  type StateStore,
  set,
} from '../../src/client/index.js'
import {
  type Group,
  type PubSubClient,
  type SendResult,
  sendEvent,
  sendToGroup,
} from '../../src/pubsub/client/index.js'

interface Reading {
  readonly id: string
  readonly celsius: number
}

declare const store: StateStore
declare const numbers: Key<number>
declare const group: Group
declare const client: PubSubClient
declare const readings: Observable<Reading>

export function results(): void {
  expectTypeOf(of(1).pipe(set(numbers))).toEqualTypeOf<Observable<ItemResult<number, SetResult>>>()
  expectTypeOf(of(1).pipe(deleteKey(numbers))).toEqualTypeOf<Observable<ItemResult<number, DeleteResult>>>()
  expectTypeOf(of(1).pipe(deleteIf(numbers))).toEqualTypeOf<Observable<ItemResult<number, DeleteResult>>>()
  expectTypeOf(readings.pipe(set(store, r => r.id, json<Reading>()))).toEqualTypeOf<
    Observable<ItemResult<Reading, SetResult>>
  >()
  expectTypeOf(
    readings.pipe(
      set(
        store,
        r => r.id,
        r => String(r.celsius),
      ),
    ),
  ).toEqualTypeOf<Observable<ItemResult<Reading, SetResult>>>()
  expectTypeOf(readings.pipe(deleteKey(store, r => r.id))).toEqualTypeOf<
    Observable<ItemResult<Reading, DeleteResult>>
  >()
  expectTypeOf(
    readings.pipe(
      deleteIf(
        store,
        r => r.id,
        () => 'x',
      ),
    ),
  ).toEqualTypeOf<Observable<ItemResult<Reading, DeleteResult>>>()
}

export function failures(): void {
  const emit = { onError: 'emit' } as const
  expectTypeOf(of(1).pipe(set(numbers, emit))).toEqualTypeOf<
    Observable<ItemResult<number, SetResult> | Failure<number>>
  >()
  expectTypeOf(of(1).pipe(deleteKey(numbers, emit))).toEqualTypeOf<
    Observable<ItemResult<number, DeleteResult> | Failure<number>>
  >()
  expectTypeOf(of(1).pipe(deleteIf(numbers, emit))).toEqualTypeOf<
    Observable<ItemResult<number, DeleteResult> | Failure<number>>
  >()
  expectTypeOf(of(1).pipe(set(numbers, { onError: 'throw' }))).toEqualTypeOf<
    Observable<ItemResult<number, SetResult>>
  >()
  expectTypeOf(readings.pipe(set(store, r => r.id, json<Reading>(), emit))).toEqualTypeOf<
    Observable<ItemResult<Reading, SetResult> | Failure<Reading>>
  >()
  of(1)
    .pipe(set(numbers, { onError: 'emit' }))
    // @ts-expect-error a failure has no version: the union must be narrowed first
    .subscribe(result => result.version)
  of(1)
    .pipe(set(numbers, { onError: 'emit' }))
    .subscribe(result => ('error' in result ? result.error.code : result.version))
}

export function failuresOfTheLatest(isLatest: boolean): void {
  expectTypeOf(of(1).pipe(set(numbers, { latest: true }))).toEqualTypeOf<
    Observable<ItemResult<number, SetResult> | Failure<number>>
  >()
  expectTypeOf(of(1).pipe(set(numbers, { latest: isLatest }))).toEqualTypeOf<
    Observable<ItemResult<number, SetResult> | Failure<number>>
  >()
  expectTypeOf(of(1).pipe(set(numbers, { latest: false }))).toEqualTypeOf<Observable<ItemResult<number, SetResult>>>()
  expectTypeOf(of(1).pipe(set(numbers, { latest: true, onError: 'throw' }))).toEqualTypeOf<
    Observable<ItemResult<number, SetResult>>
  >()
}

export function sends(): void {
  expectTypeOf(of(1).pipe(sendToGroup(group))).toEqualTypeOf<Observable<ItemResult<number, SendResult>>>()
  expectTypeOf(of('x').pipe(sendEvent(client, 'e'))).toEqualTypeOf<Observable<ItemResult<string, SendResult>>>()
}

export function items(): void {
  // @ts-expect-error the key holds numbers, the source has texts
  of('21.5').pipe(set(numbers))
  // @ts-expect-error the key holds numbers, the source has texts
  of('21.5').pipe(deleteIf(numbers))
  // @ts-expect-error the source may be undefined where the key wants a number
  of<(number | undefined)[]>(1).pipe(set(numbers))
  // @ts-expect-error the source may be a text where the key wants a number
  of<(number | string)[]>(1).pipe(set(numbers))
  // @ts-expect-error the codec is one of numbers, the source has readings
  readings.pipe(set(store, r => r.id, number))
  // @ts-expect-error an item has no such property
  readings.pipe(deleteKey(store, r => r.name))
  // @ts-expect-error a key is a text or bytes, not a number
  readings.pipe(deleteKey(store, r => r.celsius))
  const celsius = (reading: Reading): number => reading.celsius
  // @ts-expect-error a value is a text or bytes, not a number: use a codec
  readings.pipe(set(store, r => r.id, celsius))
  // An operator that only needs the key accepts items of any type.
  of('x', undefined, {}).pipe(deleteKey(numbers))
}

export function options(): void {
  // @ts-expect-error a delete has no time to live
  deleteKey(numbers, { expiresIn: 5 })
  // @ts-expect-error a delete on condition of a value has no other condition
  deleteIf(numbers, { ifAbsent: true })
  // @ts-expect-error an option that does not exist
  set(numbers, { expires: 5 })
  // @ts-expect-error `latest` is yes or no
  set(numbers, { latest: 'k' })
  // @ts-expect-error a token is a version or its text
  set(numbers, { fencingToken: 7 })
  // @ts-expect-error there are `throw` and `emit`
  set(numbers, { onError: 'retry' })
  // @ts-expect-error a key is fixed already: there is no function for keys
  set(numbers, (n: number) => String(n))
}

export async function entries(): Promise<void> {
  const entry = await firstValueFrom(numbers.get())
  // @ts-expect-error the key may be absent
  expectTypeOf(entry.value).toEqualTypeOf<number>()
  // @ts-expect-error only a value that does not decode has an error
  entry.error
  if (entry.op === 'set') expectTypeOf(entry.value).toEqualTypeOf<number>()
  if (entry.op === 'absent' || entry.op === 'delete') expectTypeOf(entry.value).toEqualTypeOf<undefined>()
  if (entry.op === 'invalid') expectTypeOf(entry.error).toEqualTypeOf<DecodeError>()
  expectTypeOf(entry.version).toEqualTypeOf<Hlc | undefined>()
  // @ts-expect-error an entry is read-only
  entry.source = 'resync'
}
