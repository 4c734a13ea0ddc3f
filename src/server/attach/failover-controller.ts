import { BehaviorSubject, type Observable, Subject } from 'rxjs'
import { connect } from '../../client/connect/connect.js'
import { backoffStrategy } from '../../client/session/connection-manager.js'
import { openServiceSession } from '../../client/session/open-session.js'
import type { ServiceSession } from '../../client/session/session.js'
import { AWAY, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { Audit, type AuditEvent } from '../../node/net/audit.js'
import { storageStatusOf } from '../host/store-events.js'
import type { Fault, StorageStatus } from '../host/store-server.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus, OpenedStorage } from '../storage/storage.js'
import { ActiveService } from './active-service.js'
import type { AttachedRequestHandler } from './attached-request-handler.js'
import type { AttachedState } from './attached-store.js'
import type { Settings } from './options.js'
import { RemoteClientRights } from './remote-clients.js'
import { ServiceProbe } from './service-probe.js'
import { StorageManager } from './storage-manager.js'

/** A directory that another process has, or a log that cannot be reached, is asked for again, ms. */
const RETRY_MS = 1_000

/** What an attached store does. */
type Role =
  /** Looks whether another one serves. */
  | { readonly role: 'standby'; readonly probe: ServiceProbe }
  /** None does: it stops to look, and opens its storage. */
  | { readonly role: 'claiming' }
  /** Serves, or tries to. */
  | { readonly role: 'active'; readonly service: ActiveService }
  /** Releases its storage, or waits for the next attempt to open it. */
  | { readonly role: 'none' }

/** Looks whether it is needed, serves, and steps back when it is replaced. */
export class FailoverController {
  readonly requests$: Observable<RequestReport>
  readonly drift$: Observable<number>
  readonly faults$: Observable<Fault>
  readonly storage$: Observable<StorageStatus>
  readonly audit$: Observable<AuditEvent>
  readonly state$: Observable<AttachedState>
  readonly #url: string
  readonly #settings: Settings
  readonly #clock: Clock
  readonly #audit = new Audit(systemClock)
  readonly #outlets = {
    requests$: new Subject<RequestReport>(),
    drift$: new Subject<number>(),
    faults$: new Subject<Fault>(),
    storage$: new Subject<StorageStatus>(),
    state$: new BehaviorSubject<AttachedState>({ state: 'connecting' }),
  }
  readonly #storage: StorageManager
  #role: Role = { role: 'none' }
  #startsOver = false
  #cancelRetry: () => void = () => undefined
  #closed: Promise<void> | undefined
  /** Settles when what is being opened or released is. */
  #turn: Promise<void> = Promise.resolve()

  /** Throws {@link ArgumentError} for what is wrong with the address or how to connect. */
  constructor(url: string, settings: Settings, clock: Clock = systemClock) {
    const { requests$, drift$, faults$, storage$, state$ } = this.#outlets
    this.requests$ = requests$.asObservable()
    this.drift$ = drift$.asObservable()
    this.faults$ = faults$.asObservable()
    this.storage$ = storage$.asObservable()
    this.audit$ = this.#audit.events$
    this.state$ = state$.asObservable()
    this.#url = url
    this.#settings = settings
    this.#clock = clock
    const { policy } = settings
    const rights = policy && new RemoteClientRights(policy, (...refusal) => this.#refused(...refusal))
    this.#storage = new StorageManager(settings, rights, {
      clients: () => this.handler?.clients.size ?? 0,
      stored: status => storage$.next(status),
      outdated: () => this.#startOver(),
      failed: error => this.#end(error),
      faulted: error => this.#faulted(error),
    })
    this.#look()
  }

  get state(): AttachedState {
    return this.#outlets.state$.value
  }

  /** Where requests are taken, with the keys, while it serves or tries to. */
  get handler(): AttachedRequestHandler | undefined {
    return this.#role.role === 'active' ? this.#role.service.handler : undefined
  }

  /** The nodes that share the log; those that wait know of them as well. */
  get cluster(): ClusterStatus | undefined {
    return this.#storage.opened?.cluster?.()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close(undefined)
    return this.#closed
  }

  /** Looks whether another store serves, and takes its place when none does; with the keys at hand, where that can be. */
  #look(wasReplaced = false): void {
    if (this.#closed) return
    if (this.#role.role === 'none') this.#role = { role: 'standby', probe: this.#newProbe(wasReplaced) }
    if (this.#storage.isEarly) this.#then(() => this.#openEarly())
  }

  /** What a claim could not open is for the next look. */
  async #openEarly(): Promise<void> {
    if (this.#role.role === 'standby') await this.#open()
  }

  #newProbe(wasReplaced: boolean): ServiceProbe {
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
    return new ServiceProbe(store, this.#clock, events, wasReplaced)
  }

  /** One after the other: what fails ends it all. */
  #then(task: () => Promise<void>): void {
    this.#turn = this.#turn.then(async () => {
      if (!this.#closed) await task()
    })
    this.#turn = this.#turn.catch(cause => this.#end(cause))
  }

  async #claim(): Promise<void> {
    // It has begun to start over since.
    if (this.#role.role !== 'standby') return
    const { probe } = this.#role
    this.#role = { role: 'claiming' }
    this.#cancelRetry()
    await probe.stop()
    const opened = await this.#open()
    if (opened !== undefined) {
      this.#role = { role: 'active', service: this.#newService(opened) }
      return
    }
    this.#role = { role: 'none' }
    if (!this.#storage.isEarly) this.#tell({ state: 'standby' })
  }

  /** What cannot be opened now is tried again, when nobody else serves then. */
  async #open(): Promise<OpenedStorage | undefined> {
    this.#cancelRetry()
    const opened = await this.#storage.open()
    if (opened === undefined && !this.#closed) this.#cancelRetry = this.#clock.schedule(RETRY_MS, () => this.#look())
    return opened
  }

  async #stopLooking(): Promise<void> {
    if (this.#role.role !== 'standby') return
    const { probe } = this.#role
    this.#role = { role: 'none' }
    await probe.stop()
  }

  /** The log goes on without this one: others may serve until it has caught up. */
  #startOver(): void {
    if (this.#startsOver) return
    this.#startsOver = true
    this.#then(async () => {
      await this.#stopLooking()
      await this.#endService()
      this.#startsOver = false
      this.#tell({ state: 'connecting' })
      this.#look()
    })
  }

  #newService(opened: OpenedStorage): ActiveService {
    const session = connectService(this.#url, this.#settings, () => service.contests, this.#clock)
    const { requests$, drift$, storage$ } = this.#outlets
    const service = new ActiveService(session, opened, this.#settings, this.#clock, {
      requests$,
      drifted: drift => drift$.next(drift),
      stored: failure => storage$.next(storageStatusOf(failure)),
      faulted: error => this.#faulted(error),
      unanswered: (clientId, topic) => this.#refused(clientId, 'publish', topic),
      serving: life => this.#tell({ state: 'serving', life }),
      reconnecting: cause => this.#tell({ state: 'reconnecting', cause }),
      ended: cause => this.#ended(cause),
    })
    return service
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

  async #endService(): Promise<void> {
    if (this.#role.role === 'active') await this.#role.service.end()
    await this.#release()
  }

  async #release(): Promise<void> {
    this.#role = { role: 'none' }
    await this.#storage.release()
  }

  #end(cause: unknown): void {
    this.#closed ??= this.#close(cause)
  }

  async #close(cause: unknown): Promise<void> {
    this.#cancelRetry()
    this.#storage.end()
    const stopped = this.#stopLooking()
    // By then #closed is set, and nothing more is begun.
    await Promise.resolve()
    await Promise.all([this.#turn, stopped])
    await this.#endService()
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

/** ms the broker keeps the session: so long requests wait for a store that comes back. */
const SESSION_EXPIRY = 30_000
/** s until the broker says that the store is away. */
const WILL_DELAY = 1
/**
 * Requests that are under way at a time. Not few: of what waits for its turn beyond them Mosquitto 2.0 lets newer ones
 * overtake older ones after some have expired. Not many: all of them may come again, and be known then.
 */
const RECEIVE_MAXIMUM = 16_384

/**
 * The session in which requests come, under the client id that all services have in common.
 *
 * @param contests - whether to come back to the client id when it was taken
 */
export function connectService(
  url: string,
  { clientId, connecting, maxPacketSize: maximumPacketSize }: Settings,
  contests: () => boolean,
  clock: Clock,
): ServiceSession {
  const { reconnect = {}, credentials } = connecting
  const options = {
    ...connecting,
    urls: [url],
    clientId,
    maximumPacketSize,
    keepAlive: connecting.keepAlive ?? 10_000,
    connectTimeout: connecting.connectTimeout ?? 10_000,
    sessionExpiry: SESSION_EXPIRY,
    cleanStart: false,
    receiveMaximum: RECEIVE_MAXIMUM,
    will: { topic: LIFE_TOPIC, payload: AWAY, delay: WILL_DELAY },
  }
  const reconnecting = { strategy: backoffStrategy(reconnect), credentials, contests, isPersistent: true }
  return openServiceSession(options, reconnecting, clock)
}
