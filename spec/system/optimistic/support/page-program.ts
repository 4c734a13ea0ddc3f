// Runs in the browser: a page that writes one key of the store in its address.

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

/** Serializable options of a page. */
export type PageTerms = Pick<OptimisticOptions<number>, 'offline' | 'maxAge'> & {
  readonly conflict?: 'last' | 'refuse' | 'sum'
  /** Result of `ask`. */
  readonly yes?: boolean
  readonly isKept?: boolean
}

/** A serializable state. */
export interface Told {
  readonly value: number | undefined
  readonly state: string
  readonly version: string | undefined
  readonly error: string | undefined
  readonly late: LateWriteInfo | undefined
  readonly freshness: string
}

const url = new URLSearchParams(location.search).get('store') ?? ''
const store = connect(url, { reconnect: { initial: 5, max: 20 }, timeout: 2_000 })
const asked: LateWrite<number>[] = []
let told: Told[] = []
let view: Optimistic<number> | undefined
let looking: Subscription | undefined

const controls = {
  /** Subscribes to a key, replacing the previous one. */
  open(key: string, { conflict, yes = false, isKept = false, ...terms }: PageTerms): void {
    looking?.unsubscribe()
    told = []
    view = optimistic(store.key(key, number), {
      ...terms,
      conflict: conflict === 'sum' ? (mine, theirs = 0) => mine + theirs : conflict,
      ...(isKept && { storage: indexedDbStorage('spec') }),
      ...(terms.offline === 'ask' && {
        ask: late => {
          asked.push(late)
          return [yes]
        },
      }),
    })
    looking = view.state$.subscribe(({ value, state, version, error, late, freshness }) => {
      told.push({
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
  told: (): readonly Told[] => told,
  asked: (): readonly LateWrite<number>[] => asked,
  /** Resolves with the state once no write is pending and the key has been read on this connection. */
  settled: async (): Promise<Told | undefined> => {
    if (view === undefined) return undefined
    const isSettled = filter(
      ({ state, freshness }: Optimistic<number>['state']) =>
        freshness.state === 'live' && (state === 'confirmed' || state === 'refused'),
    )
    await firstValueFrom(view.state$.pipe(isSettled))
    return told.at(-1)
  },
  /** Resolves when the connection has the state. */
  until: async (wanted: string): Promise<void> => {
    await firstValueFrom(store.status$.pipe(filter(({ state }) => state === wanted)))
  },
}

Reflect.set(globalThis, 'page', controls)

/** Functions for specs to call in the page. */
export type Controls = typeof controls
