import { ReplaySubject } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import { StateStoreError } from '../../core/util/errors.js'
import type { KeyRights, WatchQuotas } from '../engine/engine.js'
import { STORAGE_KEPT } from '../host/store-events.js'
import type { StorageStatus } from '../host/store-server.js'
import type { Availability } from '../log/cluster/log-health-monitor.js'
import { StreamError } from '../log/cluster/stream.js'
import { type NodeHost, type OpenedStorage, type Storage, storageOf } from '../storage/storage.js'
import type { Settings } from './options.js'

/** What it tells, and what it has to know. */
export interface StorageManagerHost {
  /** Clients of the store that serves. */
  readonly clients: () => number
  /** What is kept, when that changes. */
  stored(status: StorageStatus): void
  /** What is open is of no use any more, or not for now: it has to be opened anew. */
  outdated(): void
  /** It has stopped for good. */
  failed(error: unknown): void
  /** An error that does not keep it from going on. */
  faulted(error: unknown): void
}

/** The keys of an attached store: opened when it is to serve, or before that when others share their log. */
export class StorageManager {
  /** Whether it is open from the start on: a standby follows the log, and has all keys when its turn comes. */
  readonly isEarly: boolean
  readonly #settings: Settings
  readonly #rights: KeyRights<Client> | undefined
  readonly #host: StorageManagerHost
  readonly #unwanted$ = new ReplaySubject<void>(1)
  #open: { readonly storage: Storage; readonly opened: OpenedStorage } | undefined
  #status: StorageStatus['state'] = 'kept'

  constructor(settings: Settings, rights: KeyRights<Client> | undefined, host: StorageManagerHost) {
    this.isEarly = settings.keeping.log !== undefined
    this.#settings = settings
    this.#rights = rights
    this.#host = host
  }

  /** What is open. */
  get opened(): OpenedStorage | undefined {
    return this.#open?.opened
  }

  /** Opens it unless it is open; `undefined` while that may go better later. Rejects with what will not. */
  async open(): Promise<OpenedStorage | undefined> {
    if (this.#open !== undefined) return this.#open.opened
    try {
      this.#open = await this.#opening()
      this.#tell(STORAGE_KEPT)
    } catch (error) {
      if (!this.#mayPass(error)) throw error
      if (this.isEarly) this.#tell({ state: 'waiting', error })
    }
    return this.opened
  }

  /** Closes what is open. */
  async release(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.opened.log.close()
    await open?.storage.release()
  }

  /** Nothing more is opened: what is being opened fails. */
  end(): void {
    this.#unwanted$.next()
  }

  async #opening(): Promise<{ readonly storage: Storage; readonly opened: OpenedStorage }> {
    const { keeping, watches } = this.#settings
    const quotas: WatchQuotas<Client> = { ...watches, ownerOf: ({ clientId }) => clientId }
    const storage = await storageOf({ options: keeping, watches: quotas, rights: this.#rights, host: this.#nodeHost })
    try {
      return { storage, opened: await storage.open() }
    } catch (error) {
      await storage.release()
      throw error
    }
  }

  get #nodeHost(): NodeHost {
    const { clients, outdated, failed, faulted } = this.#host
    return {
      clients,
      kept: concern => this.#tellKept(concern),
      unwanted$: this.#unwanted$,
      events: {
        outrun: outdated,
        failed,
        available: (availability, cause) => this.#available(availability, cause),
        // While the log cannot be reached that is said once.
        troubled: error => {
          if (!(error instanceof StreamError)) faulted(error)
        },
      },
    }
  }

  #available(availability: Availability, cause: unknown): void {
    this.#tell(availability === 'kept' ? STORAGE_KEPT : { state: 'waiting', error: cause })
    // Another one may reach it.
    if (availability === 'away') this.#host.outdated()
  }

  /** What is worse is said already. */
  #tellKept(concern: unknown): void {
    if (this.#status !== 'kept' && this.#status !== 'degraded') return
    this.#tell(concern === undefined ? STORAGE_KEPT : { state: 'degraded', error: concern })
  }

  #tell(status: StorageStatus): void {
    if (status.state === this.#status) return
    this.#status = status.state
    this.#host.stored(status)
  }

  /** Another process has the directory, or the log cannot be reached. */
  #mayPass(error: unknown): boolean {
    if (!(error instanceof StateStoreError)) return false
    if (!this.isEarly) return error.code === 'in-use'
    const isRefused = error instanceof StreamError && error.problem === 'refused'
    return error.code === 'timeout' || (error.code === 'connection-lost' && !isRefused)
  }
}
