import { merge, type Observable, ReplaySubject, Subject } from 'rxjs'
import { LIFE_TOPIC, notificationFilter, notificationPrefix, responseTopic } from '../../core/protocol/topics.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ClosedError,
  ConnectionRefusedError,
  type RequestRejectedError,
  type StateStoreError,
} from '../../core/util/errors.js'
import type { CloseHook, KeyHost } from '../keys/source.js'
import { warnOnce } from '../keys/source.js'
import { HOST, StoreView } from '../keys/store-view.js'
import { StoreCommands } from '../requests/commands.js'
import { Invoker } from '../requests/invoker.js'
import type { ConnectionInfo, InboundMessage, MqttSession } from '../session/session.js'
import { Registry } from '../watch/registry.js'
import { StoreInstanceMonitor } from './store-instance-monitor.js'
import { SubscriptionManager } from './subscription-manager.js'

/** What a client needs besides its session. Times in ms. */
export interface ClientSettings {
  readonly clock: Clock
  readonly timeout: number
  readonly maxQueued: number
  readonly stopDelay: number
  /** 0 (default) for never. */
  readonly verifyEvery?: number
}

/**
 * A connection to a state store: typed keys, one-shot reads and writes, and what there is to know about the connection.
 * Made by {@link connect}.
 */
export class StateStore extends StoreView implements AsyncDisposable {
  override readonly [HOST]: ClientHost
  /** MQTT client id. */
  readonly clientId: string
  /** State of the connection, the latest first; completes after `closed`, which late subscribers get, too. */
  readonly status$: Observable<Status>
  /**
   * Faults that end no stream: values that do not decode, malformed messages, requests of watches that failed and are
   * tried again, of those ten with one code in ten seconds at most. Hot; nothing is lost by not listening.
   */
  readonly errors$: Observable<StateStoreError>
  readonly #session: MqttSession
  readonly #subscriptionManager: SubscriptionManager
  /** Not a BehaviorSubject: a subscriber that comes after the end shall hear of it. */
  readonly #status$ = new ReplaySubject<Status>(1)
  #status: Status = { state: 'connecting' }
  /** Those that came of what is being told, and are told behind it. */
  #untold: Status[] | undefined
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #responseTopic: string
  readonly #notificationPrefix: string
  readonly #invoker: Invoker
  readonly #registry: Registry
  readonly #storeInstanceMonitor: StoreInstanceMonitor
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => undefined
  readonly #farewells = new Set<CloseHook>()
  #leaving = false
  /** Settles when all farewells have been said. */
  readonly #left: Promise<void>
  #resolveLeft: () => void = () => undefined
  #ending = false
  /** The session was told to end, and has ended. */
  #isStopped = false
  #isOver = false

  /** Use {@link connect}. */
  constructor(session: MqttSession, settings: ClientSettings) {
    super()
    const { clientId } = session
    const { clock, timeout, maxQueued, stopDelay, verifyEvery = 0 } = settings
    this.clientId = clientId
    this.status$ = this.#status$.asObservable()
    this.#tell({ state: 'connecting', url: session.url })
    this.errors$ = this.#errors$.asObservable()
    this.#session = session
    this.#responseTopic = responseTopic(clientId)
    this.#notificationPrefix = notificationPrefix(clientId)
    this.#invoker = new Invoker({ session, responseTopic: this.#responseTopic, clock, limit: maxQueued })
    const store = new StoreCommands(this.#invoker, clock, clientId)
    const report = (error: StateStoreError): void => this.#errors$.next(error)
    this.#registry = new Registry({
      store,
      clock,
      notificationPrefix: this.#notificationPrefix,
      timeout,
      stopDelay,
      verifyEvery,
      report,
      changed: () => this.#progress(),
    })
    this[HOST] = {
      store,
      registry: this.#registry,
      timeout,
      report,
      warn: warnOnce(),
      link$: this.status$,
      clock,
      clientId,
      closeHooks: this.#farewells,
      isLeaving: () => this.#leaving,
    }
    const topics = { answers: this.#responseTopic, changes: notificationFilter(clientId) }
    this.#subscriptionManager = new SubscriptionManager(session, clock, topics, {
      answers: info => this.#ready(info),
      changes: connection => {
        if (!this.#ending) this.#registry.connected(connection)
      },
      refused: (what, error, forGood) => this.#refused(what, error, forGood),
    })
    this.#storeInstanceMonitor = new StoreInstanceMonitor(session, clock, {
      changed: isBack => this.#storeGone(isBack),
    })
    this.#closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
    this.#left = new Promise(resolve => {
      this.#resolveLeft = resolve
    })
    session.open({
      connected: info => this.#connected(info),
      disconnected: (cause, retry) => this.#disconnected(cause, retry?.attempt, retry?.at),
      closed: cause => this.#over(cause),
      message: message => this.#received(message),
    })
  }

  /**
   * Ends the connection: leases are released, writes that wait for the connection are stored if they have a `storage`,
   * watches complete, requests fail with `closed`, or `outcome-unknown` for a write whose answer had not come. Resolves
   * when the connection is gone. A storage has 10 s; what it could not do by then is reported on {@link errors$}. A client
   * that has no connection, or loses it meanwhile, makes none again. May be called again.
   */
  close(): Promise<void> {
    if (!this.#leaving) {
      this.#leaving = true
      this.#sayFarewell()
    }
    return this.#left.then(() => this.#closed)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Leases are given back first, so that others need not wait until they run out, and writes are stored. */
  #sayFarewell(): void {
    const isConnected = this.#status.state === 'connected'
    // No copy: a lease that leaves because of another's farewell has nothing to say, and what it gives back comes in.
    const farewells = Array.from(this.#farewells, farewell => farewell(isConnected))
    merge(...farewells).subscribe({
      complete: () => {
        this.#leave()
        this.#resolveLeft()
      },
    })
    if (!isConnected) this.#stop()
  }

  #leave(): void {
    if (this.#ending) return
    this.#ending = true
    this.#release(undefined)
    if (this.#isOver) this.#end(undefined)
    else this.#stop()
  }

  /** A client that connected again while it is closed would take over one that was opened with its client id since. */
  #stop(): void {
    if (this.#isStopped || this.#isOver) return
    this.#isStopped = true
    this.#subscriptionManager.cancel()
    this.#session.close()
  }

  /** The session has ended; the client has when it has waited for its leases and storages. */
  #over(cause: StateStoreError | undefined): void {
    this.#isOver = true
    if (this.#ending || !this.#isStopped) this.#end(cause)
  }

  #connected(info: ConnectionInfo): void {
    if (this.#ending) return
    this.#invoker.connected(info)
    this.#subscriptionManager.connected(info, this.#storeInstanceMonitor.isNamed)
  }

  #ready(info: ConnectionInfo): void {
    if (this.#ending) return
    this.#invoker.ready(info)
    this.#tell(this.#connectedStatus())
  }

  #refused(what: 'answers' | 'changes', error: RequestRejectedError, forGood: boolean): void {
    if (this.#ending) return
    if (!forGood) this.#errors$.next(error)
    else if (what === 'answers') this.#giveUp(error)
    else this.#registry.reject(error)
  }

  #giveUp(error: StateStoreError): void {
    this.#end(error)
    this.#session.close()
  }

  #disconnected(cause: StateStoreError, attempt: number | undefined, retryAt: number | undefined): void {
    this.#subscriptionManager.cancel()
    this.#storeInstanceMonitor.disconnected()
    if (this.#ending) return
    this.#registry.disconnected()
    this.#invoker.disconnected(cause)
    this.#tell({ state: 'reconnecting', url: this.#session.url, cause, attempt, retryAt })
    if (this.#leaving) this.#stop()
  }

  #progress(): void {
    if (this.#status.state === 'connected' && !this.#ending) this.#tell(this.#connectedStatus())
  }

  #tell(status: Status): void {
    this.#status = status
    if (this.#untold) {
      this.#untold.push(status)
      return
    }
    const untold = [status]
    this.#untold = untold
    for (let next = untold.shift(); next; next = untold.shift()) this.#status$.next(next)
    this.#untold = undefined
    if (this.#status.state === 'closed') this.#status$.complete()
  }

  #connectedStatus(): Status {
    const { size: keys, synced } = this.#registry
    return { state: 'connected', url: this.#session.url, keys, synced }
  }

  #received(message: InboundMessage): void {
    if (message.topic === this.#responseTopic) {
      this.#storeInstanceMonitor.answered(message)
      this.#invoker.received(message)
    } else if (message.topic.startsWith(this.#notificationPrefix)) this.#registry.receive(message)
    else if (message.topic === LIFE_TOPIC && !this.#ending) this.#storeInstanceMonitor.announced(message)
  }

  /** The store is away, or was. */
  #storeGone(isBack: boolean): void {
    this.#registry.disconnected()
    this.#progress()
    if (isBack) this.#subscriptionManager.renew()
  }

  #end(cause: StateStoreError | undefined): void {
    this.#ending = true
    this.#release(cause)
    this.#tell({ state: 'closed', cause })
    this.#errors$.complete()
    this.#resolveClosed()
  }

  /** A broker that refuses the first connection is an error of its own: the remedy is in the options of `connect`. */
  #endOf(cause: StateStoreError | undefined): StateStoreError {
    if (cause === undefined) return new ClosedError()
    if (cause instanceof ConnectionRefusedError && this.#status.state === 'connecting') return cause
    return new ClosedError(`The connection was closed for good: ${cause.message}`, { cause })
  }

  /** Ends all streams: first the watches, which complete, then the requests, which fail. */
  #release(cause: StateStoreError | undefined): void {
    const error = this.#endOf(cause)
    if (cause) this.#errors$.next(error)
    this.#subscriptionManager.cancel()
    this.#storeInstanceMonitor.disconnected()
    this.#registry.close(cause && error, this.#session.shared)
    this.#invoker.close(error)
  }
}

/** What those who live as long as a client, its leases, need of it. */
export interface ClientHost extends KeyHost {
  readonly clock: Clock
  readonly clientId: string
  /** Whether the client is being closed: a lease that began now would miss the farewells, and be left behind. */
  readonly isLeaving: () => boolean
}

/**
 * State of the connection to the broker. `url` is its address, or the one that is tried next, without user, password and
 * query; missing over somebody else's MqttClient.
 */
export type Status =
  | { readonly state: 'connecting'; readonly url?: string | undefined }
  | {
      readonly state: 'connected'
      readonly url?: string | undefined
      /** Watched keys. */
      readonly keys: number
      /** Those whose value has been read on this connection; the others are being read again. */
      readonly synced: number
    }
  | {
      readonly state: 'reconnecting'
      readonly url?: string | undefined
      /** Why the connection was lost, or why the last attempt failed. */
      readonly cause: StateStoreError
      /** 1 for the first attempt since a connection held, whatever its address; missing when somebody else's MqttClient decides. */
      readonly attempt: number | undefined
      /** Wall time of that attempt, ms since the Unix epoch. */
      readonly retryAt: number | undefined
    }
  | {
      readonly state: 'closed'
      /** Missing when closed on purpose. */
      readonly cause: StateStoreError | undefined
    }
