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

/** Settings of a client, besides its session. Times in ms. */
export interface ClientSettings {
  readonly clock: Clock
  readonly timeout: number
  readonly maxQueued: number
  readonly stopDelay: number
  /** 0 (default) disables verification. */
  readonly verifyEvery?: number
}

/**
 * A connection to a state store: typed keys, one-shot reads and writes, and the state of the connection. Created by
 * {@link connect}.
 */
export class StateStore extends StoreView implements AsyncDisposable {
  override readonly [HOST]: ClientHost
  /** MQTT client id. */
  readonly clientId: string
  /**
   * State of the connection, starting with the latest. Completes after `closed`, which late subscribers also receive.
   */
  readonly status$: Observable<Status>
  /**
   * Errors that end no stream: values that do not decode, malformed messages, and failed requests of
   * watches, which are retried (at most ten of those per code in ten seconds). Hot; subscribing is optional.
   */
  readonly errors$: Observable<StateStoreError>
  readonly #session: MqttSession
  readonly #subscriptionManager: SubscriptionManager
  /** Not a BehaviorSubject: late subscribers must receive `closed`. */
  readonly #status$ = new ReplaySubject<Status>(1)
  #status: Status = { state: 'connecting' }
  /** Statuses queued reentrantly while another is emitted. */
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
  /** Settles when all farewells have completed. */
  readonly #left: Promise<void>
  #resolveLeft: () => void = () => undefined
  #ending = false
  /** The session was asked to close. */
  #isStopped = false
  #isOver = false

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
   * Closes the connection. Leases are released, writes that wait for the connection are saved if they have a `storage`,
   * and watches complete. Requests fail with `closed`, or `outcome-unknown` for a write that awaits its response. Storages have
   * 10 s; writes not saved by then are reported on {@link errors$}. A client that is not connected, or loses its
   * connection while closing, does not reconnect. Resolves when the connection has ended. Can be called repeatedly.
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

  /** Releases leases first, so that others do not wait for their expiry, and saves writes. */
  #sayFarewell(): void {
    const isConnected = this.#status.state === 'connected'
    // Not a copy: a lease that ends because of another's farewell has none, and what it releases is added to the set.
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

  /** Stops reconnecting: that could take over the session of a newer client with the same id. */
  #stop(): void {
    if (this.#isStopped || this.#isOver) return
    this.#isStopped = true
    this.#subscriptionManager.cancel()
    this.#session.close()
  }

  /** The session has ended; the client ends after its leases and storages have finished. */
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

  /** The store is unavailable, or available again. */
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

  /** Keeps the error of a refused first connection, as the options of `connect` must change. */
  #endOf(cause: StateStoreError | undefined): StateStoreError {
    if (cause === undefined) return new ClosedError()
    if (cause instanceof ConnectionRefusedError && this.#status.state === 'connecting') return cause
    return new ClosedError(`The connection closed permanently: ${cause.message}`, { cause })
  }

  /** Ends all streams: first watches, which complete, then requests, which fail. */
  #release(cause: StateStoreError | undefined): void {
    const error = this.#endOf(cause)
    if (cause) this.#errors$.next(error)
    this.#subscriptionManager.cancel()
    this.#storeInstanceMonitor.disconnected()
    this.#registry.close(cause && error, this.#session.shared)
    this.#invoker.close(error)
  }
}

/** The parts of a client that its leases use. */
export interface ClientHost extends KeyHost {
  readonly clock: Clock
  readonly clientId: string
  /** Whether the client is closing. A lease that started now would not be released. */
  readonly isLeaving: () => boolean
}

/**
 * State of the connection to the broker. `url` is the current address, or the next to try, without user, password and
 * query; undefined over a caller's MqttClient.
 */
export type Status =
  | { readonly state: 'connecting'; readonly url?: string | undefined }
  | {
      readonly state: 'connected'
      readonly url?: string | undefined
      /** Number of watched keys. */
      readonly keys: number
      /** Watched keys whose value has been read on this connection; the others are being read. */
      readonly synced: number
    }
  | {
      readonly state: 'reconnecting'
      readonly url?: string | undefined
      /** Why the connection was lost or the last attempt failed. */
      readonly cause: StateStoreError
      /**
       * 1 for the first attempt after a stable connection, counted over all addresses; undefined if a caller's
       * MqttClient reconnects.
       */
      readonly attempt: number | undefined
      /** Wall time of the next attempt, ms since the Unix epoch. */
      readonly retryAt: number | undefined
    }
  | {
      readonly state: 'closed'
      /** Undefined after `close()`. */
      readonly cause: StateStoreError | undefined
    }
