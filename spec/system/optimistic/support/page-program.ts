// Runs in the browser: a page that writes one key of the store in its URL.

import { filter, firstValueFrom, type Subscription } from 'rxjs'
import { connect, number, StateStoreError } from '../../../../src/client/index.js'
import {
  indexedDbStorage,
  type LateWrite,
  type LateWriteInfo,
  type Optimistic,
  type OptimisticOptions,
  optimistic,
} from '../../../../src/client/optimistic/index.js'

/** The serializable options of a page. */
export type PageOptions = Pick<OptimisticOptions<number>, 'offline' | 'maxAge'> & {
  readonly conflict?: 'last' | 'refuse' | 'sum'
  /** The result of `ask`. */
  readonly answer?: boolean
  readonly isKept?: boolean
}

export interface SerializedState {
  readonly value: number | undefined
  readonly state: string
  readonly version: string | undefined
  readonly error: string | undefined
  readonly late: LateWriteInfo | undefined
  readonly freshness: string
}

const url = new URLSearchParams(location.search).get('store') ?? ''
const store = connect(url, { reconnect: { initial: 5, max: 20 }, timeout: 2_000 })
const lateWrites: LateWrite<number>[] = []
let states: SerializedState[] = []
let view: Optimistic<number> | undefined
let subscription: Subscription | undefined

const controls = {
  /** Subscribes to a key, in place of the previous one. */
  open(key: string, { conflict, answer = false, isKept = false, ...options }: PageOptions): void {
    subscription?.unsubscribe()
    states = []
    view = optimistic(store.key(key, number), {
      ...options,
      conflict: conflict === 'sum' ? (mine, theirs = 0) => mine + theirs : conflict,
      ...(isKept && { storage: indexedDbStorage('spec') }),
      ...(options.offline === 'ask' && {
        ask: late => {
          lateWrites.push(late)
          return [answer]
        },
      }),
    })
    subscription = view.state$.subscribe(({ value, state, version, error, late, freshness }) => {
      states.push({
        value,
        state,
        version: version && String(version),
        error: error?.code,
        late,
        freshness: freshness.state,
      })
    })
  },
  write(values: readonly number[]): void {
    for (const value of values) view?.next(value)
  },
  /** Writes a value and returns the outcome or the error code. */
  set: async (value: number): Promise<string> => {
    if (view === undefined) return 'no view'
    try {
      const { outcome } = await view.set(value)
      return outcome
    } catch (error) {
      return error instanceof StateStoreError ? error.code : String(error)
    }
  },
  states: (): readonly SerializedState[] => states,
  lateWrites: (): readonly LateWrite<number>[] => lateWrites,
  /** Resolves with the state once no write is pending and the key has been read on this connection. */
  settled: async (): Promise<SerializedState | undefined> => {
    if (view === undefined) return undefined
    const untilSettled = filter(
      ({ state, freshness }: Optimistic<number>['state']) =>
        freshness.state === 'live' && (state === 'confirmed' || state === 'refused'),
    )
    await firstValueFrom(view.state$.pipe(untilSettled))
    return states.at(-1)
  },
  /** Resolves when the connection has reached the state. */
  until: async (expected: string): Promise<void> => {
    await firstValueFrom(store.status$.pipe(filter(({ state }) => state === expected)))
  },
}

Reflect.set(globalThis, 'page', controls)

/** Functions for specs to call in the page. */
export type Controls = typeof controls
