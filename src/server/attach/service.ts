import { BehaviorSubject, type Observable, Subject } from 'rxjs'
import { connect } from '../../client/connect/connect.js'
import { toHex } from '../../core/util/bytes.js'
import { systemClock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { randomBytes } from '../../core/util/random.js'
import { Audit, type AuditEvent } from '../../node/net/audit.js'
import { statusOf } from '../host/outlets.js'
import type { Fault, StorageStatus } from '../host/running-store.js'
import type { RequestReport } from '../service/state-store-server.js'
import type { ClusterStatus } from '../storage/cluster-status.js'
import type { Opened } from '../storage/storage.js'
import type { AttachedState } from './attached-store.js'
import { connectService } from './connect-service.js'
import type { Desk } from './desk.js'
import { GuestRights } from './guest-rights.js'
import { Keeper } from './keeper.js'
import type { Settings } from './options.js'
import { Reign } from './reign.js'
import { Sentry } from './sentry.js'

/** A directory that another process has, or a log that cannot be reached, is asked for again, ms. */
const PATIENCE = 1_000

/** Looks whether it is needed, serves, and steps back when it is replaced. */
export class AttachedService {
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
  readonly #keeper: Keeper
  #sentry: Sentry | undefined
  /** While it serves, or tries to. */
  #reign: Reign | undefined
  #startsOver = false
  #cancel: () => void = () => undefined
  #closed: Promise<void> | undefined
  /** Settles when what is being opened or released is. */
  #turn: Promise<void> = Promise.resolve()

  /** Throws {@link ArgumentError} for what is wrong with the address or how to connect. */
  constructor(url: string, settings: Settings) {
    const { requests$, drift$, faults$, storage$, state$ } = this.#outlets
    this.requests$ = requests$.asObservable()
    this.drift$ = drift$.asObservable()
    this.faults$ = faults$.asObservable()
    this.storage$ = storage$.asObservable()
    this.audit$ = this.#audit.events$
    this.state$ = state$.asObservable()
    this.#url = url
    this.#settings = settings
    const { policy } = settings
    const rights = policy && new GuestRights(policy, (...refusal) => this.#refused(...refusal))
    this.#keeper = new Keeper(settings, rights, {
      clients: () => this.desk?.guests.size ?? 0,
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
  get desk(): Desk | undefined {
    return this.#reign?.desk
  }

  /** The nodes that share the log; those that wait know of them as well. */
  get cluster(): ClusterStatus | undefined {
    return this.#keeper.opened?.cluster?.()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close(undefined)
    return this.#closed
  }

  /** Looks whether another store serves, and takes its place when none does; with the keys at hand, where that can be. */
  #look(wasReplaced = false): void {
    if (this.#closed) return
    this.#sentry ??= this.#newSentry(wasReplaced)
    if (this.#keeper.isEarly) this.#then(async () => void (await this.#open()))
  }

  #newSentry(wasReplaced: boolean): Sentry {
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
    return new Sentry(store, systemClock, events, wasReplaced)
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
    if (this.#sentry === undefined) return
    await this.#stopLooking()
    const opened = await this.#open()
    if (opened !== undefined) this.#reign = this.#newReign(opened)
    else if (!this.#keeper.isEarly) this.#tell({ state: 'standby' })
  }

  /** What cannot be opened now is tried again, when nobody else serves then. */
  async #open(): Promise<Opened | undefined> {
    const opened = await this.#keeper.open()
    this.#cancel()
    if (opened === undefined) this.#cancel = systemClock.schedule(PATIENCE, () => this.#look())
    return opened
  }

  async #stopLooking(): Promise<void> {
    const sentry = this.#sentry
    this.#sentry = undefined
    await sentry?.stop()
  }

  /** The log goes on without this one: others may serve until it has caught up. */
  #startOver(): void {
    if (this.#startsOver) return
    this.#startsOver = true
    this.#then(async () => {
      await this.#stopLooking()
      await this.#reign?.end()
      await this.#release()
      this.#startsOver = false
      this.#tell({ state: 'connecting' })
      this.#look()
    })
  }

  #newReign(opened: Opened): Reign {
    const session = connectService(this.#url, this.#settings, () => reign.contests, systemClock)
    const { requests$, drift$, storage$ } = this.#outlets
    const reign = new Reign(session, opened, this.#settings, systemClock, {
      requests$,
      drifted: drift => drift$.next(drift),
      stored: failure => storage$.next(statusOf(failure)),
      faulted: error => this.#faulted(error),
      unanswered: (clientId, topic) => this.#refused(clientId, 'publish', topic),
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
    this.#reign = undefined
    await this.#keeper.release()
  }

  #end(cause: unknown): void {
    this.#closed ??= this.#close(cause)
  }

  async #close(cause: unknown): Promise<void> {
    this.#cancel()
    this.#keeper.end()
    const sentry = this.#sentry
    this.#sentry = undefined
    // By then #closed is set, and nothing more is begun.
    await Promise.resolve()
    await Promise.all([this.#turn, sentry?.stop()])
    await this.#reign?.end()
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
