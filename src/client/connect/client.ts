import { map, merge, type Observable, ReplaySubject, Subject, startWith } from 'rxjs'
import { connectionChannel } from '../../core/diagnostics/client-channels.js'
import type { ConnectionEvent } from '../../core/diagnostics/client-events.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import { INSTANCE_TOPIC, notificationFilter, notificationPrefix, responseTopic } from '../../core/protocol/topics.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ClosedError,
  ConnectionRefusedError,
  type RequestRejectedError,
  type StateStoreError,
} from '../../core/util/errors.js'
import { type CloseHook, type KeyHost, warnOnce } from '../keys/host.js'
import { HOST, StoreView } from '../keys/store-view.js'
import { StoreCommands } from '../requests/commands.js'
import { Invoker } from '../requests/invoker.js'
import type { ConnectionInfo, InboundMessage, MqttSession } from '../session/session.js'
import { Registry } from '../watch/registry.js'
import { ClockMonitor } from './clock-monitor.js'
import { StoreInstanceMonitor } from './store-instance-monitor.js'
import { SubscriptionManager } from './subscription-manager.js'

/** All times are in ms. */
export interface ClientSettings {
  readonly clock: Clock
  readonly timeout: number
  readonly maxQueued: number
  readonly stopDelay: number
  /** Interval of the verification of watches; default 0, which means never. */
  readonly verifyEvery?: number
}

/**
 * A connection to a state store. Gives access to typed keys, one-shot reads and writes, and the state of the
 * connection. Created by {@link connect}.
 */
export class StateStore extends StoreView implements AsyncDisposable {
  override readonly [HOST]: ClientHost
  /** MQTT client id. */
  readonly clientId: string
  /**
   * Emits the connection's state, starting with the latest. Completes after `closed`, which late subscribers also
   * receive.
   */
  readonly status$: Observable<Status>
  /**
   * Emits measurements of the client, starting with the latest. Emits after every change, such as each key that is read,
   * so that {@link status$} does not have to. Completes after the status `closed`.
   */
  readonly stats$: Observable<ClientStats>
  /**
   * Emits the errors that do not end a stream: values that cannot be decoded, malformed messages, failed renewals of
   * credentials, a missing SUBACK over a caller's MqttClient, and failed requests of watches, which are retried and of
   * which at most ten per code are emitted in ten seconds. Hot; subscribing is optional.
   */
  readonly errors$: Observable<StateStoreError>
  readonly #session: MqttSession
  readonly #subscriptionManager: SubscriptionManager
  /** A BehaviorSubject would not work, because late subscribers must receive `closed`. */
  readonly #status$ = new ReplaySubject<Status>(1)
  #status: Status = { state: 'connecting' }
  /** Statuses that were queued while another one was being emitted. */
  #queuedStatuses: Status[] | undefined
  readonly #statsChanged$ = new Subject<void>()
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #responseTopic: string
  readonly #notificationPrefix: string
  readonly #invoker: Invoker
  readonly #clockMonitor: ClockMonitor
  #lastError: StateStoreError | undefined
  readonly #registry: Registry
  readonly #storeInstanceMonitor: StoreInstanceMonitor
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => undefined
  readonly #closeHooks = new Set<CloseHook>()
  #isClosing = false
  /** Settles when all close hooks have completed. */
  readonly #closeHooksDone: Promise<void>
  #resolveCloseHooks: () => void = () => undefined
  #isEnding = false
  #isStopped = false
  #hasSessionEnded = false

  /** Use {@link connect} instead. */
  constructor(session: MqttSession, settings: ClientSettings) {
    super()
    const { clientId } = session
    const { clock, timeout, maxQueued, stopDelay, verifyEvery = 0 } = settings
    this.clientId = clientId
    this.status$ = this.#status$.asObservable()
    this.#emitStatus({ state: 'connecting', url: session.url })
    // Read at each emission, so that every subscriber receives the latest, even if another one causes a change.
    this.stats$ = this.#statsChanged$.pipe(
      startWith(undefined),
      map(() => this.#readStats()),
    )
    this.errors$ = this.#errors$.asObservable()
    this.#session = session
    this.#responseTopic = responseTopic(clientId)
    this.#notificationPrefix = notificationPrefix(clientId)
    this.#invoker = new Invoker({ session, responseTopic: this.#responseTopic, clock, limit: maxQueued })
    const report = (error: StateStoreError): void => this.#reportError(error)
    this.#clockMonitor = new ClockMonitor(clock, report)
    const onAssigned = (version: Hlc): void => this.#clockMonitor.assigned(version)
    const store = new StoreCommands(this.#invoker, clock, clientId, onAssigned, report)
    this.#registry = new Registry({
      store,
      clock,
      clientId,
      notificationPrefix: this.#notificationPrefix,
      timeout,
      stopDelay,
      verifyEvery,
      report,
      changed: () => this.#emitStats(),
    })
    this[HOST] = {
      store,
      registry: this.#registry,
      timeout,
      report,
      reportWrite: error => this.#reportWrite(error),
      warn: warnOnce(),
      status$: this.status$,
      clock,
      clientId,
      storeTime: () => clock.now() + (this.#clockMonitor.offset ?? 0),
      closeHooks: this.#closeHooks,
      isClosing: () => this.#isClosing,
    }
    const topics = { responses: this.#responseTopic, notifications: notificationFilter(clientId) }
    this.#subscriptionManager = new SubscriptionManager(session, clock, topics, {
      responsesReady: info => this.#onReady(info),
      notificationsReady: connection => {
        if (!this.#isEnding) this.#registry.connected(connection)
      },
      refused: (what, error, isPermanent) => this.#onRefused(what, error, isPermanent),
    })
    this.#storeInstanceMonitor = new StoreInstanceMonitor(session, clock, {
      changed: isAvailable => this.#onStoreChanged(isAvailable),
    })
    this.#closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
    this.#closeHooksDone = new Promise(resolve => {
      this.#resolveCloseHooks = resolve
    })
    session.open({
      connected: info => this.#onConnected(info),
      disconnected: (cause, retry) => this.#onDisconnected(cause, retry?.attempt, retry?.at),
      failed: report,
      closed: cause => this.#onSessionClosed(cause),
      message: message => this.#onMessage(message),
    })
  }

  /**
   * Tries to connect now instead of at `retryAt` of {@link status$}, and starts with small delays again. A page calls it
   * itself when it is shown or focused, or its network is back. Has no effect unless the client waits, nor on a caller's
   * MqttClient.
   */
  retryNow(): void {
    this.#session.retryNow?.()
  }

  /**
   * Closes the connection. Leases are released, and watches complete. Requests fail with `closed`, or `outcome-unknown`
   * for a write that awaits its response. Writes that wait for the connection are saved if they have a `storage`, which
   * has 10 s to save them; writes not saved by then are reported on {@link errors$}. A client that is not connected, or
   * loses its connection while closing, does not reconnect. Resolves when the connection has ended. Can be called
   * repeatedly.
   */
  close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true
      this.#runCloseHooks()
    }
    return this.#closeHooksDone.then(() => this.#closed)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Runs the close hooks. They save waiting writes and release leases, so that other candidates do not have to wait for
   * the expiry.
   */
  #runCloseHooks(): void {
    const isConnected = this.#status.state === 'connected'
    // Iterates over the live set, because a hook can end other leases, which removes their hooks and adds their
    // releases.
    const hooks = Array.from(this.#closeHooks, hook => hook(isConnected))
    merge(...hooks).subscribe({
      complete: () => {
        this.#endAfterCloseHooks()
        this.#resolveCloseHooks()
      },
    })
    if (!isConnected) this.#stop()
  }

  #endAfterCloseHooks(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#endStreams(undefined)
    if (this.#hasSessionEnded) this.#end(undefined)
    else this.#stop()
  }

  /** Stops reconnecting, because a reconnect could take over the session of a newer client with the same id. */
  #stop(): void {
    if (this.#isStopped || this.#hasSessionEnded) return
    this.#isStopped = true
    this.#subscriptionManager.cancel()
    this.#session.close()
  }

  /** Ends the client, unless its leases and storages have not finished yet. */
  #onSessionClosed(cause: StateStoreError | undefined): void {
    this.#hasSessionEnded = true
    if (this.#isEnding || !this.#isStopped) this.#end(cause)
  }

  #onConnected(info: ConnectionInfo): void {
    if (this.#isEnding) return
    this.#clockMonitor.connected(info.storeTime)
    this.#invoker.connected(info)
    this.#subscriptionManager.connected(info, this.#storeInstanceMonitor.hasSeenInstance)
  }

  #onReady(info: ConnectionInfo): void {
    if (this.#isEnding) return
    this.#invoker.ready(info)
    this.#publish('connected', undefined)
    this.#emitStatus({ state: 'connected', url: this.#session.url })
  }

  #onRefused(what: 'responses' | 'notifications', error: RequestRejectedError, isPermanent: boolean): void {
    if (this.#isEnding) return
    if (!isPermanent) this.#reportError(error)
    else if (what === 'responses') this.#giveUp(error)
    else this.#registry.reject(error)
  }

  #giveUp(error: StateStoreError): void {
    this.#end(error)
    this.#session.close()
  }

  #onDisconnected(cause: StateStoreError, attempt: number | undefined, retryAt: number | undefined): void {
    this.#subscriptionManager.cancel()
    this.#storeInstanceMonitor.disconnected()
    if (this.#isEnding) return
    this.#registry.disconnected()
    this.#invoker.disconnected(cause)
    this.#lastError = cause
    this.#publish('disconnected', cause)
    this.#emitStatus({ state: 'reconnecting', url: this.#session.url, cause, attempt, retryAt })
    this.#emitStats()
    if (this.#isClosing) this.#stop()
  }

  #reportError(error: StateStoreError): void {
    this.#lastError = error
    this.#errors$.next(error)
    this.#emitStats()
  }

  #reportWrite(error: StateStoreError): void {
    if (this.#errors$.observed) this.#registry.report(error)
    else this[HOST].warn(error.code, `${error.message} (nothing awaits the write or observes \`errors$\`)`)
  }

  #publish(type: ConnectionEvent['type'], cause: StateStoreError | undefined): void {
    if (!connectionChannel.hasSubscribers) return
    connectionChannel.publish({ type, clientId: this.clientId, url: this.#session.url, cause })
  }

  #emitStatus(status: Status): void {
    this.#status = status
    if (this.#queuedStatuses) {
      this.#queuedStatuses.push(status)
      return
    }
    const queued = [status]
    this.#queuedStatuses = queued
    for (let next = queued.shift(); next; next = queued.shift()) this.#status$.next(next)
    this.#queuedStatuses = undefined
    if (this.#status.state === 'closed') this.#status$.complete()
  }

  #emitStats(): void {
    if (!this.#isEnding) this.#statsChanged$.next()
  }

  #readStats(): ClientStats {
    const { size: keys, synced } = this.#registry
    const { roundTrip } = this.#invoker
    return { keys, synced, roundTrip, clockOffset: this.#clockMonitor.offset, lastError: this.#lastError }
  }

  #onMessage(message: InboundMessage): void {
    if (message.topic === this.#responseTopic) {
      this.#storeInstanceMonitor.onResponse(message)
      this.#invoker.received(message)
    } else if (message.topic.startsWith(this.#notificationPrefix)) this.#registry.receive(message)
    else if (message.topic === INSTANCE_TOPIC && !this.#isEnding) this.#storeInstanceMonitor.onAnnouncement(message)
  }

  #onStoreChanged(isAvailable: boolean): void {
    this.#registry.disconnected()
    this.#emitStats()
    if (isAvailable) this.#subscriptionManager.resubscribe()
  }

  #end(cause: StateStoreError | undefined): void {
    this.#isEnding = true
    this.#endStreams(cause)
    this.#publish('closed', cause)
    this.#emitStatus({ state: 'closed', cause })
    this.#statsChanged$.next()
    this.#statsChanged$.complete()
    this.#errors$.complete()
    this.#resolveClosed()
  }

  /**
   * Returns the error of a refused first connection unchanged, because the caller must change the options of `connect`.
   */
  #closeError(cause: StateStoreError | undefined): StateStoreError {
    if (cause === undefined) return new ClosedError()
    if (cause instanceof ConnectionRefusedError && this.#status.state === 'connecting') return cause
    return new ClosedError(`The connection closed permanently: ${cause.message}`, { cause })
  }

  /** Ends all streams. Watches complete first, then requests fail. */
  #endStreams(cause: StateStoreError | undefined): void {
    const error = this.#closeError(cause)
    if (cause) this.#reportError(error)
    this.#subscriptionManager.cancel()
    this.#storeInstanceMonitor.disconnected()
    this.#registry.close(cause && error, this.#session.isShared)
    this.#invoker.close(error)
  }
}

export interface ClientHost extends KeyHost {
  readonly clientId: string
  /** Whether the client is closing. A lease that started now would not be released. */
  readonly isClosing: () => boolean
}

/**
 * State of the connection to the broker. `url` is the current address, or the next to try, without user, password and
 * query; undefined for a caller's MqttClient.
 */
export type Status =
  | { readonly state: 'connecting'; readonly url?: string | undefined }
  | { readonly state: 'connected'; readonly url?: string | undefined }
  | {
      readonly state: 'reconnecting'
      readonly url?: string | undefined
      /** Why the connection was lost or the last attempt failed. */
      readonly cause: StateStoreError
      /**
       * Number of the attempt: 1 for the first one after a stable connection, counted over all addresses; undefined if
       * a caller's MqttClient reconnects.
       */
      readonly attempt: number | undefined
      /** Wall time of the next attempt, ms since the Unix epoch. */
      readonly retryAt: number | undefined
    }
  | {
      readonly state: 'closed'
      /** Why the connection was closed; undefined after `close()`. */
      readonly cause: StateStoreError | undefined
    }

/** Measurements of a client. */
export interface ClientStats {
  /** Number of watched keys. */
  readonly keys: number
  /**
   * Number of watched keys whose value has been read on this connection. All other keys wait for the connection, or are
   * being read.
   */
  readonly synced: number
  /** Time from sending a recent request until its response arrived, ms; `undefined` before the first of a connection. */
  readonly roundTrip: number | undefined
  /**
   * The clock of the store minus this machine's clock when the client connected, ms; `undefined` if unknown. With a
   * foreign store: by how much its versions were ahead of this clock at the last write, at least 0.
   */
  readonly clockOffset: number | undefined
  /** The last error of {@link StateStore.errors$}, or the last reason for a lost connection or a failed attempt. */
  readonly lastError: StateStoreError | undefined
}
