import type { Observable } from 'rxjs'
import { onTestFinished } from 'vitest'
import { type ConnectOptions, connect, type Entry, type StateStore } from '../../src/client/index.js'

/** Creates a client that reconnects quickly and closes at the end of the test. */
export function openClient(url: string | readonly string[], options: ConnectOptions = {}): StateStore {
  const client = connect(url, { reconnect: { initial: 5, max: 20 }, ...options })
  onTestFinished(async () => client.close())
  return client
}

/** The values of an observable so far. */
export interface Recording<T> {
  readonly values: readonly T[]
  readonly error: unknown
  readonly completed: boolean
  unsubscribe(): void
  /** Resolves when the recorded values match. Rejects if the observable ends first. */
  until(fits: (recording: Recording<T>) => boolean): Promise<void>
}

/** Subscribes to an observable until the end of the test, and records its values. */
export function record<T>(source: Observable<T>): Recording<T> {
  const values: T[] = []
  const waiters = new Set<() => void>()
  let error: unknown
  let ended = false
  let completed = false
  const changed = (): void => {
    for (const check of Array.from(waiters)) check()
  }
  const subscription = source.subscribe({
    next: value => {
      values.push(value)
      changed()
    },
    error: cause => {
      error = cause
      ended = true
      changed()
    },
    complete: () => {
      completed = true
      ended = true
      changed()
    },
  })
  onTestFinished(() => subscription.unsubscribe())
  const recording: Recording<T> = {
    values,
    get error() {
      return error
    },
    get completed() {
      return completed
    },
    unsubscribe: () => subscription.unsubscribe(),
    until: fits =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (fits(recording)) resolve()
          else if (ended) reject(new Error(`ended before it fitted: ${JSON.stringify(values)}`, { cause: error }))
          else return
          waiters.delete(check)
        }
        waiters.add(check)
        check()
      }),
  }
  return recording
}

/** Describes an entry in a few words, such as `set 21.5 (resync)`. */
export const inWords = ({ op, value, source }: Entry<unknown>): string =>
  op === 'set' ? `set ${String(value)} (${source})` : `${op} (${source})`

/** Describes each entry in a few words. */
export const words = (recording: Recording<Entry<unknown>>): string[] => recording.values.map(inWords)
