import { bytes, type Entry, type SetOptions, type SetResult, type StateStore } from 'rx-statestore'
import { first, map, type Observable, switchMap, tap } from 'rxjs'
import type { RestartRequest } from '../../../src/server/console/contract.js'
import { formatCount, pluralize } from '../model/amount.js'
import { visibleKey } from '../model/key-pieces.js'
import { type ListedKey, libraryKey } from '../model/listed-key.js'
import { formatDuration } from '../model/time.js'
import type { Console } from './console.js'

const NOT_COPIED = {
  title: 'Not copied',
  advice: 'The browser denies access to the clipboard. It requires https: or localhost, and your permission.',
} as const

export class Actions {
  readonly #console: Pick<Console, 'api' | 'store$' | 'toasts' | 'run'>

  constructor(console: Pick<Console, 'api' | 'store$' | 'toasts' | 'run'>) {
    this.#console = console
  }

  disconnect(clientId: string): void {
    this.#console.run(this.#console.api.disconnect(clientId), () =>
      this.#console.toasts.success(`Disconnected ${clientId}`, 'It should reconnect shortly.'),
    )
  }

  freeze(ms: number): void {
    const message = ms === 0 ? 'Store resumed' : `Frozen for ${formatDuration(ms)}`
    this.#console.run(this.#console.api.freeze(ms), () => this.#console.toasts.success(message))
  }

  restart(keys: RestartRequest['keys']): void {
    this.#console.run(this.#console.api.restart(keys), () =>
      this.#console.toasts.success('Store restarted', `Keys ${keys}.`),
    )
  }

  reset(): void {
    this.#console.run(this.#console.api.reset(), ({ deleted, set }) =>
      this.#console.toasts.success('Reset to seed', `${pluralize(deleted, 'key')} deleted, ${formatCount(set)} set.`),
    )
  }

  load(file: Blob): void {
    this.#console.run(this.#console.api.load(file), ({ loaded, versionsKept, expired }) => {
      const parts = [
        `${formatCount(versionsKept)} with original version`,
        ...(expired > 0 ? [`${formatCount(expired)} expired`] : []),
      ]
      this.#console.toasts.success(`Loaded ${pluralize(loaded, 'key')}`, `${parts.join(', ')}.`)
    })
  }

  dump(): void {
    this.#console.run(this.#console.api.dump(), dump => {
      const link = document.createElement('a')
      link.href = URL.createObjectURL(dump)
      link.download = 'statestore.ndjson'
      link.click()
      URL.revokeObjectURL(link.href)
    })
  }

  copy(text: string, label: string): void {
    // Without https:, only pages of this machine have a clipboard.
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    copied.then(
      () => this.#console.toasts.success(`Copied ${label}`),
      () => this.#console.toasts.problem(NOT_COPIED),
    )
  }

  /** Watches a key. The watch continues across reconnects to the store. */
  watch(key: ListedKey): Observable<Entry<Uint8Array>> {
    return this.#console.store$.pipe(switchMap(store => store.key(libraryKey(key), bytes).entries$))
  }

  /** Writes a value. Cold. Errors with the store's error. */
  set(name: string | Uint8Array, value: Uint8Array, options: SetOptions): Observable<SetResult> {
    return this.#runOnce(store => store.key(name, bytes).set(value, options))
  }

  /** Deletes a key if it still has this value, so that no unseen change is lost. Cold. */
  deleteIf(key: ListedKey, value: Uint8Array, fencingToken: string | undefined): Observable<boolean> {
    const options = fencingToken === undefined ? {} : { fencingToken }
    return this.#runOnce(store => store.key(libraryKey(key), bytes).deleteIf(value, options)).pipe(
      map(({ deleted }) => deleted),
      tap(deleted => deleted && this.#console.toasts.success('Deleted', visibleKey(key.name))),
    )
  }

  #runOnce<T>(send: (store: StateStore) => Observable<T>): Observable<T> {
    return this.#console.store$.pipe(first(), switchMap(send))
  }
}
