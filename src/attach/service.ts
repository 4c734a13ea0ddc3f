import { BehaviorSubject, type Observable, Subject } from 'rxjs'
import { toHex } from '../base/bytes.js'
import { systemClock } from '../base/clock.js'
import { StateStoreError } from '../base/errors.js'
import { randomBytes } from '../base/random.js'
import { connect } from '../client/connect.js'
import type { DumpLine } from '../dump/dump-line.js'
import type { WatchQuotas } from '../engine/engine.js'
import { Audit, type AuditEvent } from '../listeners/audit.js'
import { openServiceSession } from '../mqtt/open-session.js'
import { backingOff } from '../mqtt/reconnect.js'
import type { Client } from '../peer/client.js'
import { AWAY, LIFE_TOPIC } from '../protocol/topics.js'
import type { RequestReport } from '../server/state-store-server.js'
import { statusOf } from '../standalone/outlets.js'
import type { Fault, StorageStatus } from '../standalone/running-store.js'
import { type Opened, type Storage, storageFor } from '../standalone/storage.js'
import { linesFrom } from '../standalone/transfer.js'
import type { AttachedState, AttachedStats, AttachedStore } from './attached-store.js'
import { GuestRights } from './guest-rights.js'
import type { Settings } from './options.js'
import { Reign } from './reign.js'
import { Sentry } from './sentry.js'

/** ms the broker keeps the session: so long requests wait for a store that comes back. */
const SESSION_EXPIRY = 30_000
/** s until the broker says that the store is away. */
const WILL_DELAY = 1
/**
 * Requests that are under way at a time. Not few: of what waits for its turn beyond them Mosquitto 2.0 lets newer ones
 * overtake older ones after some have expired. Not many: all of them may come again, and be known then.
 */
const RECEIVE_MAXIMUM = 16_384
/** A directory that another process has is asked for again, ms. */
const PATIENCE = 1_000

const IDLE: AttachedStats = { keys: 0, bytes: 0, watches: 0, requests: 0, errors: 0, notifications: 0 }

/** What there is while it serves, or tries to. */
interface Active {
  readonly reign: Reign
  readonly opened: Opened
  readonly storage: Storage
}

/** Looks whether it is needed, serves, and steps back when it is replaced. */
export class AttachedService implements AttachedStore {
  readonly clientId: string
  readonly requests$: Observable<RequestReport>
  readonly drift$: Observable<number>
  readonly faults$: Observable<Fault>
  readonly storage$: Observable<StorageStatus>
  readonly audit$: Observable<AuditEvent>
  readonly state$: Observable<AttachedState>
  readonly #url: string
  readonly #settings: Settings
  readonly #audit = new Audit(systemClock)
  readonly #outlets = {
    requests$: new Subject<RequestReport>(),
    drift$: new Subject<number>(),
    faults$: new Subject<Fault>(),
    storage$: new Subject<StorageStatus>(),
    state$: new BehaviorSubject<AttachedState>({ state: 'connecting' }),
  }
  #sentry: Sentry | undefined
  #active: Active | undefined
  #cancel: () => void = () => undefined
  #closed: Promise<void> | undefined
  /** Settles when what is being opened or released is. */
  #turn: Promise<void> = Promise.resolve()

  /** Throws {@link ArgumentError} for what is wrong with the address or how to connect. */
  constructor(url: string, settings: Settings) {
    const { requests$, drift$, faults$, storage$, state$ } = this.#outlets
    this.clientId = settings.clientId
    this.requests$ = requests$.asObservable()
    this.drift$ = drift$.asObservable()
    this.faults$ = faults$.asObservable()
    this.storage$ = storage$.asObservable()
    this.audit$ = this.#audit.events$
    this.state$ = state$.asObservable()
    this.#url = url
    this.#settings = settings
    this.#look()
  }

  get state(): AttachedState {
    return this.#outlets.state$.value
  }

  get stats(): AttachedStats {
    if (this.#active === undefined) return IDLE
    const { opened, reign } = this.#active
    const { size: keys, bytes, watchers } = opened.engine
    return { keys, bytes, watches: watchers.count, ...reign.desk.server.counters }
  }

  dump(): Iterable<DumpLine> {
    return linesFrom(Array.from(this.#active?.opened.engine.records() ?? []))
  }

  close(): Promise<void> {
    this.#closed ??= this.#close(undefined)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Looks whether another store serves, and takes its place when none does. */
  #look(wasReplaced = false): void {
    if (this.#closed) return
    const { clientId, connecting } = this.#settings
    const id = `${clientId}-${toHex(randomBytes(4)).toLowerCase()}`
    const store = connect(this.#url, { ...connecting, clientId: id, sessionExpiry: 0 })
    const events = {
      served: () => {
        if (this.state.state !== 'standby') this.#tell({ state: 'standby' })
      },
      free: () => this.#then(() => this.#claim()),
      away: (cause: StateStoreError) => this.#tell({ state: 'reconnecting', cause }),
      failed: (cause: StateStoreError) => this.#end(cause),
    }
    this.#sentry = new Sentry(store, systemClock, events, wasReplaced)
  }

  /** One after the other: what fails ends it all. */
  #then(task: () => Promise<void>): void {
    this.#turn = this.#turn.then(async () => {
      if (!this.#closed) await task()
    })
    this.#turn = this.#turn.catch(cause => this.#end(cause))
  }

  async #claim(): Promise<void> {
    await this.#sentry?.stop()
    this.#sentry = undefined
    const storage = await this.#openStorage()
    if (storage === undefined) {
      this.#tell({ state: 'standby' })
      this.#cancel = systemClock.schedule(PATIENCE, () => this.#look())
      return
    }
    try {
      const opened = await storage.open()
      this.#active = { storage, opened, reign: this.#reign(opened) }
    } catch (error) {
      await storage.release()
      throw error
    }
  }

  /** `undefined` while another process has the directory. */
  async #openStorage(): Promise<Storage | undefined> {
    const { keeping, policy, watches } = this.#settings
    const quotas: WatchQuotas<Client> = { ...watches, ownerOf: ({ clientId }) => clientId }
    const rights = policy && new GuestRights(policy, (...refusal) => this.#refused(...refusal))
    try {
      return await storageFor(keeping, quotas, rights, error => this.#faulted(error))
    } catch (error) {
      if (error instanceof StateStoreError && error.code === 'in-use') return undefined
      throw error
    }
  }

  #reign(opened: Opened): Reign {
    const { clientId, connecting, maximumPacketSize } = this.#settings
    const { reconnect = {}, credentials } = connecting
    const session = openServiceSession(
      {
        ...connecting,
        urls: [this.#url],
        clientId,
        maximumPacketSize,
        keepAlive: connecting.keepAlive ?? 10_000,
        connectTimeout: connecting.connectTimeout ?? 10_000,
        sessionExpiry: SESSION_EXPIRY,
        cleanStart: false,
        receiveMaximum: RECEIVE_MAXIMUM,
        will: { topic: LIFE_TOPIC, payload: AWAY, delay: WILL_DELAY },
      },
      { strategy: backingOff(reconnect), credentials, contests: () => reign.contests },
      systemClock,
    )
    const { requests$, drift$, storage$ } = this.#outlets
    const reign = new Reign(session, opened, this.#settings, systemClock, {
      requests$,
      drifted: drift => drift$.next(drift),
      stored: failure => storage$.next(statusOf(failure)),
      faulted: error => this.#faulted(error),
      forged: (clientId, topic) => this.#refused(clientId, 'publish', topic),
      serving: life => this.#tell({ state: 'serving', life }),
      reconnecting: cause => this.#tell({ state: 'reconnecting', cause }),
      ended: cause => this.#ended(cause),
    })
    return reign
  }

  #ended(cause: StateStoreError | undefined): void {
    if (cause) this.#end(cause)
    // Its keys are older than those of the store that took its place.
    else
      this.#then(async () => {
        await this.#release()
        this.#tell({ state: 'standby' })
        this.#look(true)
      })
  }

  async #release(): Promise<void> {
    const active = this.#active
    this.#active = undefined
    await active?.opened.log.close()
    await active?.storage.release()
  }

  #end(cause: unknown): void {
    this.#closed ??= this.#close(cause)
  }

  async #close(cause: unknown): Promise<void> {
    this.#cancel()
    const sentry = this.#sentry
    this.#sentry = undefined
    // By then #closed is set, and nothing more is begun.
    await Promise.resolve()
    await Promise.all([this.#turn, sentry?.stop()])
    await this.#active?.reign.end()
    await this.#release()
    this.#tell({ state: 'closed', cause })
    for (const outlet of Object.values(this.#outlets)) outlet.complete()
    this.#audit.close()
  }

  #tell(state: AttachedState): void {
    this.#outlets.state$.next(state)
  }

  #refused(clientId: string | undefined, action: AuditEvent['action'], target: string): void {
    this.#audit.tell({ event: 'refused', action, clientId, target })
  }

  #faulted(error: unknown): void {
    this.#outlets.faults$.next({ clientId: '', error })
  }
}
