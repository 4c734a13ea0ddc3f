// What the browser runs: a page that writes one key, of a store that is named in its address.

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

/** How a page writes, as far as that can be told from outside. */
export type PageTerms = Pick<OptimisticOptions<number>, 'offline' | 'maxAge'> & {
  readonly conflict?: 'last' | 'refuse' | 'sum'
  /** What the user says when asked. */
  readonly yes?: boolean
  readonly isKept?: boolean
}

/** A state, as far as it can be told to the outside. */
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
  /** Looks at a key anew. */
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
  /** Writes values in quick succession. */
  write(values: readonly number[]): void {
    for (const value of values) view?.next(value)
  },
  /** Writes, and says what it came to. */
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
  /** The state, as soon as nothing is under way and the key has been read on this connection. */
  settled: async (): Promise<Told | undefined> => {
    if (view === undefined) return undefined
    const isSettled = filter(
      ({ state, freshness }: Optimistic<number>['state']) =>
        freshness.state === 'live' && (state === 'confirmed' || state === 'refused'),
    )
    await firstValueFrom(view.state$.pipe(isSettled))
    return told.at(-1)
  },
  /** Settles when the connection is in a state. */
  until: async (wanted: string): Promise<void> => {
    await firstValueFrom(store.status$.pipe(filter(({ state }) => state === wanted)))
  },
}

Reflect.set(globalThis, 'page', controls)

/** What specs call in the page. */
export type Controls = typeof controls
