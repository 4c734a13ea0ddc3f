import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ReplaySubject } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import { StateStoreError } from '../../core/util/errors.js'
import type { KeyRights, WatchQuotas } from '../engine/engine.js'
import { STORAGE_KEPT } from '../host/store-events.js'
import type { StorageStatus } from '../host/store-server.js'
import type { Availability } from '../log/cluster/log-health-monitor.js'
import { StreamError } from '../log/cluster/stream.js'
import { makeDirectory } from '../log/disk/files.js'
import { STANDBY_FILE } from '../log/disk/format.js'
import { lockOwner } from '../log/disk/lock.js'
import { createStorage, type NodeHost, type OpenedStorage, type Storage } from '../storage/storage.js'
import type { Settings } from './options.js'

export interface StorageManagerHost {
  readonly clients: () => number
  onStatus(status: StorageStatus): void
  /** Called when the storage must be reopened, now or later. */
  onOutdated(): void
  onFailed(error: unknown): void
  onFault(error: unknown): void
}

/**
 * Opens and closes the storage of an attached store. A standby with a shared log opens its storage early, any other
 * store when it becomes active.
 */
export class StorageManager {
  /**
   * Whether the store opens its storage on standby. A standby with a shared log follows the log, and has all keys when
   * it takes over.
   */
  readonly isOpenOnStandby: boolean
  readonly #settings: Settings
  readonly #rights: KeyRights<Client> | undefined
  readonly #host: StorageManagerHost
  readonly #cancelled$ = new ReplaySubject<void>(1)
  #open: { readonly storage: Storage; readonly opened: OpenedStorage } | undefined
  #status: StorageStatus['state'] = 'kept'
  /** Whether another process held the directory while it was the active service. */
  #isDirectoryShared = false
  #isDetecting = false
  /** The file that tells this store, after a restart, that another one was active. */
  readonly #standbyFile: string | undefined
  #isStandbyKept: boolean
  #lastStandbyChange: Promise<void> = Promise.resolve()
  #missingKeys: StateStoreError | undefined

  constructor(settings: Settings, rights: KeyRights<Client> | undefined, host: StorageManagerHost) {
    this.isOpenOnStandby = settings.keyspace.log !== undefined
    this.#settings = settings
    this.#rights = rights
    this.#host = host
    const { data } = settings.keyspace
    this.#standbyFile = data === '' || this.isOpenOnStandby ? undefined : join(data, STANDBY_FILE)
    this.#isStandbyKept = this.#standbyFile !== undefined && existsSync(this.#standbyFile)
  }

  /** Whether another service was active when this store last ran, and its keys may be missing here. */
  get wasStandby(): boolean {
    return this.#isStandbyKept
  }

  /**
   * Keeps on the disk whether another service is active, whose keys this store does not have. Both may restart at once,
   * and then this store must not serve before the other one has had time to return.
   */
  async keepStandby(isStandby: boolean): Promise<void> {
    const isKept = isStandby && !this.#isDirectoryShared
    if (isKept === this.#isStandbyKept) return
    this.#isStandbyKept = isKept
    this.#lastStandbyChange = this.#lastStandbyChange.then(async () => this.#writeStandby(isKept))
    await this.#lastStandbyChange
  }

  async #writeStandby(isKept: boolean): Promise<void> {
    const file = this.#standbyFile
    if (file === undefined) return
    try {
      if (!isKept) await rm(file, { force: true })
      else {
        await makeDirectory(this.#settings.keyspace.data)
        await writeFile(file, '', { flush: true, mode: 0o600 })
      }
    } catch (error) {
      this.#host.onFault(error)
    }
  }

  /** Whether this store has all keys of the former active service when it takes over. */
  get hasAllKeys(): boolean {
    return this.isOpenOnStandby || this.#isDirectoryShared
  }

  /** Finds out whether the active service uses the same directory. */
  async detectSharing(): Promise<void> {
    const { data } = this.#settings.keyspace
    if (data === '' || this.#isDirectoryShared || this.#isDetecting) return
    this.#isDetecting = true
    this.#isDirectoryShared = (await lockOwner(data).catch(() => undefined)) !== undefined
    this.#isDetecting = false
  }

  /** Reports that keys of the former active service may be missing, until the storage is released. */
  reportMissingKeys(error: StateStoreError): void {
    this.#missingKeys = error
    this.setStatus(STORAGE_KEPT)
  }

  get opened(): OpenedStorage | undefined {
    return this.#open?.opened
  }

  /**
   * Opens the storage unless it is open. Returns `undefined` after a transient error, and rejects after any other
   * error.
   */
  async open(): Promise<OpenedStorage | undefined> {
    if (this.#open !== undefined) return this.#open.opened
    try {
      this.#open = await this.#openStorage()
      this.setStatus(STORAGE_KEPT)
    } catch (error) {
      if (!this.#isTransient(error)) throw error
      if (this.isOpenOnStandby) this.setStatus({ state: 'waiting', error })
    }
    return this.opened
  }

  /** Closes the storage, whose problems then do not concern this store. A shared log may still be unreachable. */
  async release(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    this.#missingKeys = undefined
    if (!this.isOpenOnStandby) this.setStatus(STORAGE_KEPT)
    await open?.opened.log.close()
    await open?.storage.release()
  }

  cancel(): void {
    this.#cancelled$.next()
  }

  async #openStorage(): Promise<{ readonly storage: Storage; readonly opened: OpenedStorage }> {
    const { keyspace, watches } = this.#settings
    const quotas: WatchQuotas<Client> = { ...watches, ownerOf: ({ clientId }) => clientId }
    const storage = await createStorage({
      options: keyspace,
      watches: quotas,
      rights: this.#rights,
      host: this.#nodeHost,
    })
    try {
      return { storage, opened: await storage.open() }
    } catch (error) {
      await storage.release()
      throw error
    }
  }

  get #nodeHost(): NodeHost {
    const { clients, onOutdated, onFailed, onFault } = this.#host
    return {
      countClients: clients,
      onLogHealth: concern => this.#onConcern(concern),
      cancelled$: this.#cancelled$,
      events: {
        onOutrun: onOutdated,
        onFailed,
        onAvailability: (availability, cause) => this.#onAvailability(availability, cause),
        // `onAvailability` already reports an outage of the log servers once.
        onError: error => {
          if (!(error instanceof StreamError)) onFault(error)
        },
      },
    }
  }

  #onAvailability(availability: Availability, cause: unknown): void {
    this.setStatus(availability === 'kept' ? STORAGE_KEPT : { state: 'waiting', error: cause })
    // Another service may still reach the log.
    if (availability === 'away') this.#host.onOutdated()
  }

  /** Reports a concern unless the storage has a worse status. */
  #onConcern(concern: unknown): void {
    if (this.#status !== 'kept' && this.#status !== 'degraded') return
    this.setStatus(concern === undefined ? STORAGE_KEPT : { state: 'degraded', error: concern })
  }

  /** Reports a status unless the storage has this status already. */
  setStatus(reported: StorageStatus): void {
    const error = this.#missingKeys
    const status: StorageStatus =
      reported.state === 'kept' && error !== undefined ? { state: 'degraded', error } : reported
    if (status.state === this.#status) return
    this.#status = status.state
    this.#host.onStatus(status)
  }

  #isTransient(error: unknown): boolean {
    if (!(error instanceof StateStoreError)) return false
    if (!this.isOpenOnStandby) return error.code === 'in-use'
    const isRefused = error instanceof StreamError && error.problem === 'refused'
    return error.code === 'timeout' || (error.code === 'connection-lost' && !isRefused)
  }
}
