import { BehaviorSubject, type Observable, Subject, skip } from 'rxjs'
import { connect } from '../../client/connect/connect.js'
import { backoffStrategy } from '../../client/session/connection-manager.js'
import { openServiceSession } from '../../client/session/open-session.js'
import type { ServiceSession } from '../../client/session/session.js'
import { AWAY, INSTANCE_TOPIC } from '../../core/protocol/topics.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, StateStoreError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import { Audit, type AuditEvent } from '../../node/net/audit.js'
import { guard } from '../../node/net/report-subject.js'
import type { Policy } from '../access/policy.js'
import { RejectionAudit } from '../host/rejection-audit.js'
import { newFaultSubject, STORAGE_KEPT, storageStatusOf } from '../host/store-events.js'
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

/** The interval of retries while another process uses the directory or the log is unreachable. */
const RETRY_MS = 1_000

type Role =
  | { readonly role: 'standby'; readonly probe: ServiceProbe }
  | { readonly role: 'claiming' }
  | { readonly role: 'active'; readonly service: ActiveService }
  | { readonly role: 'none' }

/** The active/standby state machine of an attached store. */
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
  readonly #rejections = new RejectionAudit({ audit: this.#audit, authorizer: undefined })
  readonly #rights: RemoteClientRights | undefined
  readonly #subjects = {
    requests$: new Subject<RequestReport>(),
    drift$: new Subject<number>(),
    faults$: newFaultSubject(),
    storage$: new BehaviorSubject(STORAGE_KEPT),
    state$: new BehaviorSubject<AttachedState>({ state: 'connecting' }),
  }
  readonly #storage: StorageManager
  #role: Role = { role: 'none' }
  #isReopening = false
  /** Whether another service was active, whose keys this store may not have. */
  #hasSeenActive = false
  readonly #retry: Timer
  #closed: Promise<void> | undefined
  /** Resolves when the last task is done. The tasks that open and release the storage run one after another. */
  #lastTask: Promise<void> = Promise.resolve()

  constructor(url: string, settings: Settings, clock: Clock = systemClock) {
    const { requests$, drift$, faults$, storage$, state$ } = this.#subjects
    this.requests$ = guard(requests$)
    this.drift$ = guard(drift$)
    this.faults$ = faults$.asObservable()
    this.storage$ = guard(storage$.pipe(skip(1)))
    this.audit$ = this.#audit.events$
    this.state$ = guard(state$)
    this.#url = url
    this.#settings = settings
    this.#clock = clock
    this.#retry = new Timer(clock)
    const { policy } = settings
    this.#rights = policy && new RemoteClientRights(policy, (...refusal) => this.#recordDenied(...refusal))
    this.#storage = new StorageManager(settings, this.#rights, {
      clients: () => this.handler?.clients.size ?? 0,
      onStatus: status => storage$.next(status),
      onOutdated: () => this.#reopen(),
      onFailed: error => this.#closeWith(error),
      onFault: error => this.#reportFault(error),
    })
    this.#hasSeenActive = this.#storage.wasStandby
    this.#startProbing()
  }

  get state(): AttachedState {
    return this.#subjects.state$.value
  }

  get handler(): AttachedRequestHandler | undefined {
    return this.#role.role === 'active' ? this.#role.service.handler : undefined
  }

  get storage(): StorageStatus {
    return this.#subjects.storage$.value
  }

  get cluster(): ClusterStatus | undefined {
    return this.#storage.opened?.cluster?.()
  }

  /**
   * Applies a new policy. Ends the watches of keys that clients must no longer read, and the globs of clients that may
   * read other keys than before. Throws {@link ArgumentError} for a store without a policy, and {@link ClosedError}.
   */
  setPolicy(policy: Policy): void {
    const rights = this.#rights
    if (this.#closed) throw new ClosedError('The store is closed; attach a new one')
    if (rights === undefined) throw new ArgumentError('The store was attached without a policy; attach it with one')
    const canReadSame = rights.setPolicy(policy)
    if (this.#role.role !== 'active') return
    this.#role.service.endWatches({ canRead: (client, key) => rights.canRead(client, key), canReadSame })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close(undefined)
    return this.#closed
  }

  /** Probes for an active service in order to take over. A standby with a shared log also opens its storage. */
  #startProbing(wasReplaced = false): void {
    if (this.#closed) return
    if (this.#role.role === 'none') this.#role = { role: 'standby', probe: this.#newProbe(wasReplaced) }
    if (this.#storage.isOpenOnStandby) this.#enqueue(() => this.#openEarly())
  }

  async #openEarly(): Promise<void> {
    if (this.#role.role === 'standby') await this.#open()
  }

  #newProbe(wasReplaced: boolean): ServiceProbe {
    const { clientId, connection } = this.#settings
    const id = `${clientId}-${toHex(randomBytes(4)).toLowerCase()}`
    const store = connect(this.#url, { ...connection, clientId: id, sessionExpiry: 0 })
    const events = {
      onServed: () => {
        this.#hasSeenActive = true
        void this.#storage.detectSharing().then(() => {
          if (this.#role.role === 'standby') void this.#storage.keepStandby(true)
          if (this.#role.role === 'standby' && this.state.state !== 'standby') this.#setState({ state: 'standby' })
        })
      },
      hasToWait: (wasInterrupted: boolean) => {
        const isDurable = this.#settings.keyspace.data !== ''
        return this.#isMissingKeys && (isDurable || wasInterrupted)
      },
      onFree: () => this.#enqueue(() => this.#activate()),
      onDisconnected: (cause: StateStoreError) => this.#setState({ state: 'reconnecting', cause }),
      onFailed: (cause: StateStoreError) => this.#closeWith(cause),
    }
    return new ServiceProbe(store, this.#clock, events, wasReplaced)
  }

  /** Runs tasks one after another. A task that fails closes the store. */
  #enqueue(task: () => Promise<void>): void {
    this.#lastTask = this.#lastTask.then(async () => {
      if (!this.#closed) await task()
    })
    this.#lastTask = this.#lastTask.catch(cause => this.#closeWith(cause))
  }

  async #activate(): Promise<void> {
    // The store may have started to reopen while this task was queued.
    if (this.#role.role !== 'standby') return
    const { probe } = this.#role
    this.#role = { role: 'claiming' }
    this.#retry.cancel()
    await probe.stop()
    const opened = await this.#open()
    if (opened !== undefined) {
      this.#role = { role: 'active', service: this.#newService(opened) }
      if (this.#isMissingKeys) this.#reportMissingKeys()
      this.#hasSeenActive = false
      await this.#storage.keepStandby(false)
      return
    }
    this.#role = { role: 'none' }
    if (!this.#storage.isOpenOnStandby) this.#setState({ state: 'standby' })
  }

  get #isMissingKeys(): boolean {
    return this.#hasSeenActive && !this.#storage.hasAllKeys
  }

  #reportMissingKeys(): void {
    const error = keysMissingError()
    this.#storage.reportMissingKeys(error)
    this.#audit.report({ event: 'takeover', reason: 'keys-missing' })
    this.#reportFault(error)
  }

  /** Opens the storage, or schedules a retry if it cannot be opened now. */
  async #open(): Promise<OpenedStorage | undefined> {
    this.#retry.cancel()
    const opened = await this.#storage.open()
    if (opened === undefined && !this.#closed) this.#retry.set(RETRY_MS, () => this.#startProbing())
    return opened
  }

  async #stopProbing(): Promise<void> {
    if (this.#role.role !== 'standby') return
    const { probe } = this.#role
    this.#role = { role: 'none' }
    await probe.stop()
  }

  /**
   * Reopens the storage because the log has moved past this node. Another service may take over until this node has
   * caught up.
   */
  #reopen(): void {
    if (this.#isReopening) return
    this.#isReopening = true
    this.#enqueue(async () => {
      await this.#stopProbing()
      await this.#closeService()
      this.#isReopening = false
      this.#setState({ state: 'connecting' })
      this.#startProbing()
    })
  }

  #newService(opened: OpenedStorage): ActiveService {
    const session = connectService(this.#url, this.#settings, () => service.shouldReclaimClientId, this.#clock)
    const { requests$, drift$ } = this.#subjects
    const service = new ActiveService(session, opened, this.#settings, this.#clock, {
      requests$,
      onDrift: drift => drift$.next(drift),
      onStorageChange: failure => this.#storage.setStatus(storageStatusOf(failure)),
      onFault: error => this.#reportFault(error),
      onQuotaExceeded: (client, { payload }) => this.#rejections.recordRejectedRequest(client, payload),
      onUnanswered: (clientId, topic) => this.#recordDenied(clientId, 'publish', topic),
      onServing: instanceId => this.#setState({ state: 'serving', life: instanceId }),
      onReconnecting: cause => this.#setState({ state: 'reconnecting', cause }),
      onEnded: cause => this.#onServiceEnded(cause),
    })
    return service
  }

  #onServiceEnded(cause: StateStoreError | undefined): void {
    if (cause) this.#closeWith(cause)
    // The store that took over has newer keys, so this storage is outdated.
    else
      this.#enqueue(async () => {
        await this.#release()
        this.#hasSeenActive = true
        this.#setState({ state: 'standby' })
        this.#startProbing(true)
      })
  }

  async #closeService(): Promise<void> {
    if (this.#role.role === 'active') await this.#role.service.close()
    await this.#release()
  }

  async #release(): Promise<void> {
    this.#role = { role: 'none' }
    await this.#storage.release()
  }

  #closeWith(cause: unknown): void {
    this.#closed ??= this.#close(cause)
  }

  async #close(cause: unknown): Promise<void> {
    this.#retry.cancel()
    this.#storage.cancel()
    const stopped = this.#stopProbing()
    // Waiting for one microtask lets the caller set `#closed` first, after which no task starts.
    await Promise.resolve()
    await Promise.all([this.#lastTask, stopped])
    await this.#closeService()
    this.#setState({ state: 'closed', cause })
    for (const subject of Object.values(this.#subjects)) subject.complete()
    this.#audit.close()
  }

  #setState(state: AttachedState): void {
    this.#subjects.state$.next(state)
  }

  #recordDenied(clientId: string | undefined, action: AuditEvent['action'], target: string): void {
    this.#audit.report({ event: 'refused', action, clientId, target })
  }

  #reportFault(error: unknown): void {
    this.#subjects.faults$.next({ clientId: '', error })
  }
}

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    /** A store took over from another one whose keys it does not have. */
    'keys-missing': true
  }
}

const keysMissingError = (): StateStoreError =>
  new StateStoreError(
    'keys-missing',
    'this store took over from another one that did not return, and does not have the keys written there: stop this ' +
      'store to have the other one serve its keys again, and use `--log` or a shared directory',
  )

/** The time for which the broker keeps the session and its queued requests after a disconnect. */
const SESSION_EXPIRY_MS = 30_000
/** The delay until the broker announces that the store is offline. */
const WILL_DELAY_SECONDS = 1
/**
 * The limit on requests in flight. With a lower limit, Mosquitto 2.0 may reorder queued requests after some of them
 * expire. With a higher limit, redelivered requests may no longer be recognised as repetitions.
 */
const RECEIVE_MAXIMUM = 16_384

/**
 * Opens the session for requests, with the client id that all services share.
 *
 * @param shouldReclaimClientId - called when another service took the client id
 */
export function connectService(
  url: string,
  { clientId, connection, maxPacketSize: maximumPacketSize }: Settings,
  shouldReclaimClientId: () => boolean,
  clock: Clock,
): ServiceSession {
  const { reconnect = {}, credentials } = connection
  const options = {
    ...connection,
    urls: [url],
    clientId,
    maximumPacketSize,
    keepAlive: connection.keepAlive ?? 10_000,
    connectTimeout: connection.connectTimeout ?? 10_000,
    sessionExpiry: SESSION_EXPIRY_MS,
    cleanStart: false,
    receiveMaximum: RECEIVE_MAXIMUM,
    will: { topic: INSTANCE_TOPIC, payload: AWAY, delay: WILL_DELAY_SECONDS },
  }
  const reconnecting = {
    strategy: backoffStrategy(reconnect),
    credentials,
    shouldReclaimClientId,
    isPersistent: true,
  }
  return openServiceSession(options, reconnecting, clock)
}
