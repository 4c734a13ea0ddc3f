import { bytes, type Entry, type SetOptions, type SetResult, type StateStore } from 'rx-statestore'
import { first, map, type Observable, switchMap, tap } from 'rxjs'
import type { RestartRequest } from '../../../src/server/console/contract.js'
import { count, counted } from '../model/amount.js'
import { keyLine } from '../model/key-signs.js'
import { type ListedKey, nameFor } from '../model/listed-key.js'
import { span } from '../model/time.js'
import type { Console } from './console.js'

/** What the page can do; what came of it is said in toasts. */
export class Actions {
  readonly #console: Pick<Console, 'api' | 'store$' | 'toasts' | 'run'>

  constructor(console: Pick<Console, 'api' | 'store$' | 'toasts' | 'run'>) {
    this.#console = console
  }

  cut(clientId: string): void {
    this.#console.run(this.#console.api.cut(clientId), () =>
      this.#console.toasts.good(`Cut ${clientId}`, 'It should be back in a moment.'),
    )
  }

  freeze(ms: number): void {
    const said = ms === 0 ? 'The store goes on' : `Frozen for ${span(ms)}`
    this.#console.run(this.#console.api.freeze(ms), () => this.#console.toasts.good(said))
  }

  restart(keys: RestartRequest['keys']): void {
    this.#console.run(this.#console.api.restart(keys), () =>
      this.#console.toasts.good('The store was restarted', `Its keys were ${keys}.`),
    )
  }

  reset(): void {
    this.#console.run(this.#console.api.reset(), ({ deleted, set }) =>
      this.#console.toasts.good('Reset to the seed', `${counted(deleted, 'key')} deleted, ${count(set)} set.`),
    )
  }

  load(file: Blob): void {
    this.#console.run(this.#console.api.load(file), ({ loaded, versionsKept, expired }) => {
      const parts = [
        `${count(versionsKept)} with their versions`,
        ...(expired > 0 ? [`${count(expired)} expired`] : []),
      ]
      this.#console.toasts.good(`Loaded ${counted(loaded, 'key')}`, `${parts.join(', ')}.`)
    })
  }

  /** Hands the dump to the browser, as a download. */
  dump(): void {
    this.#console.run(this.#console.api.dump(), dump => {
      const link = document.createElement('a')
      link.href = URL.createObjectURL(dump)
      link.download = 'statestore.ndjson'
      link.click()
      URL.revokeObjectURL(link.href)
    })
  }

  copy(text: string, what: string): void {
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('This page may not copy here.'))
    copied.then(
      () => this.#console.toasts.good(`Copied ${what}`),
      (cause: unknown) => this.#console.toasts.bad(cause),
    )
  }

  /** The entries of a key; it follows to whichever connection there is. */
  watch(key: ListedKey): Observable<Entry<Uint8Array>> {
    return this.#console.store$.pipe(switchMap(store => store.key(nameFor(key), bytes).entries$))
  }

  /** Writes a value. Cold; errors with what the store answers. */
  set(name: string | Uint8Array, value: Uint8Array, options: SetOptions): Observable<SetResult> {
    return this.#once(store => store.key(name, bytes).set(value, options))
  }

  /** Deletes a key if it still holds this value, so that nothing goes unseen. Cold. */
  deleteIf(key: ListedKey, value: Uint8Array, fencingToken: string | undefined): Observable<boolean> {
    const options = fencingToken === undefined ? {} : { fencingToken }
    return this.#once(store => store.key(nameFor(key), bytes).deleteIf(value, options)).pipe(
      map(({ deleted }) => deleted),
      tap(deleted => deleted && this.#console.toasts.good('Deleted', keyLine(key.name))),
    )
  }

  #once<T>(ask: (store: StateStore) => Observable<T>): Observable<T> {
    return this.#console.store$.pipe(first(), switchMap(ask))
  }
}
