import { merge, type Observable, ReplaySubject, Subject } from 'rxjs'
import type { Clock } from './clock.js'
import { ClosedError, RequestRejectedError, type StateStoreError } from './errors.js'
import { toKeyName } from './keys/key-name.js'
import { Registry } from './keys/registry.js'
import { HOST, StoreView } from './keys/store-view.js'
import { Lease } from './lease/lease.js'
import type { LeaseHost } from './lease/lease-host.js'
import type { LeaseOptions } from './lease/lease-options.js'
import type { ConnectionInfo, InboundMessage, MqttSession } from './mqtt/session.js'
import { CONTENT_TYPE, PROPERTY } from './protocol/properties.js'
import { INVOKE_TOPIC, notificationFilter, notificationPrefix, responseTopic } from './protocol/topics.js'
import { Invoker } from './rpc/invoker.js'
import type { Status } from './status.js'
import { Store } from './store.js'

/** What a client needs besides its session. Times in ms. */
export interface ClientSettings {
  readonly clock: Clock
  readonly timeout: number
  readonly queueLimit: number
  readonly stopDelay: number
}

const CONNECTING: Status = { state: 'connecting' }

/** MQTT 5.0, section 3.9.3: reason codes from here on are refusals. */
const FIRST_REFUSAL = 128

/**
 * A connection to a state store: typed keys, one-shot reads and writes, and what there is to know about the connection.
 * Made by {@link connect}.
 */
export class StateStore extends StoreView implements AsyncDisposable {
  override readonly [HOST]: LeaseHost
  /** MQTT client id. */
  readonly clientId: string
  /** State of the connection, the latest first; completes after `closed`, which late subscribers get, too. */
  readonly status$: Observable<Status>
  /** Faults that end no stream: values that do not decode, malformed messages. Hot; nothing is lost by not listening. */
  readonly errors$: Observable<StateStoreError>
  readonly #session: MqttSession
  /** Not a BehaviorSubject: whoever comes after the end shall hear of it. */
  readonly #status$ = new ReplaySubject<Status>(1)
  #status: Status = CONNECTING
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #responseTopic: string
  readonly #notificationPrefix: string
  readonly #invoker: Invoker
  readonly #registry: Registry
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => undefined
  readonly #farewells = new Set<() => Observable<unknown>>()
  #leaving = false
  #ending = false

  /** Use {@link connect}. */
  constructor(session: MqttSession, settings: ClientSettings) {
    super()
    const { clientId } = session
    const { clock, timeout, queueLimit, stopDelay } = settings
    this.clientId = clientId
    this.status$ = this.#status$.asObservable()
    this.#tell(CONNECTING)
    this.errors$ = this.#errors$.asObservable()
    this.#session = session
    this.#responseTopic = responseTopic(clientId)
    this.#notificationPrefix = notificationPrefix(clientId)
    const topics = {
      request: INVOKE_TOPIC,
      response: this.#responseTopic,
      contentType: CONTENT_TYPE,
      status: PROPERTY.status,
      statusMessage: PROPERTY.statusMessage,
    }
    this.#invoker = new Invoker(session, topics, clock, queueLimit)
    const store = new Store(this.#invoker, clock, clientId)
    const report = (error: StateStoreError): void => this.#errors$.next(error)
    this.#registry = new Registry({
      store,
      clock,
      notificationPrefix: this.#notificationPrefix,
      timeout,
      stopDelay,
      report,
      changed: () => this.#progress(),
    })
    this[HOST] = {
      store,
      registry: this.#registry,
      timeout,
      report,
      clock,
      clientId,
      farewells: this.#farewells,
      isLeaving: () => this.#leaving,
    }
    this.#closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
    session.open({
      connected: info => this.#connected(info),
      disconnected: (cause, retry) => this.#disconnected(cause, retry?.attempt, retry?.at),
      closed: cause => this.#end(cause),
      message: message => this.#received(message),
    })
  }

  /**
   * A lease on a lock key: see {@link Lease}. Cold: nothing is asked for before somebody subscribes. Throws `argument`
   * for an empty name or wrong options.
   *
   * @example
   * ```ts
   * store.lease('line-1', { duration: 10_000 }).subscribe(state => console.log(state.status))
   * ```
   */
  lease(name: string | Uint8Array, options: LeaseOptions): Lease {
    return new Lease(toKeyName(name), options, this[HOST])
  }

  /**
   * Ends the connection: leases are released, watches complete, requests fail with `closed`, or `outcome-unknown` for a
   * write whose answer had not come. Resolves when the connection is gone. May be called again.
   */
  close(): Promise<void> {
    if (!this.#leaving) {
      this.#leaving = true
      this.#sayFarewell()
    }
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Whoever holds a lease gives it back first, so that others need not wait until it runs out. */
  #sayFarewell(): void {
    const farewells = Array.from(this.#farewells, farewell => farewell())
    if (farewells.length === 0 || this.#status.state !== 'connected') this.#leave()
    else merge(...farewells).subscribe({ complete: () => this.#leave() })
  }

  #leave(): void {
    if (this.#ending) return
    this.#ending = true
    this.#release(undefined)
    this.#session.close()
  }

  #connected(info: ConnectionInfo): void {
    if (this.#ending) return
    this.#invoker.connected(info)
    const filters = [this.#responseTopic, notificationFilter(this.clientId)]
    this.#session.subscribe(filters, reasonCodes => this.#subscribed(info, reasonCodes))
  }

  /** Only now may requests go: their answers and the notifications have somewhere to arrive. */
  #subscribed(
    info: ConnectionInfo,
    [responses = FIRST_REFUSAL, notifications = FIRST_REFUSAL]: readonly number[],
  ): void {
    if (this.#ending) return
    if (responses >= FIRST_REFUSAL) {
      this.#end(new RequestRejectedError(responses, `The broker refused the subscription to ${this.#responseTopic}`))
      this.#session.close()
      return
    }
    this.#tell(this.#connectedStatus())
    this.#invoker.ready(info)
    if (notifications < FIRST_REFUSAL) this.#registry.connected(!info.sessionPresent)
    else
      this.#registry.refuse(
        new RequestRejectedError(notifications, 'The broker refused the subscription to notifications'),
      )
  }

  #disconnected(cause: StateStoreError, attempt: number | undefined, retryAt: number | undefined): void {
    if (this.#ending) return
    this.#registry.disconnected()
    this.#invoker.disconnected()
    this.#tell({ state: 'reconnecting', cause, attempt, retryAt })
  }

  #progress(): void {
    if (this.#status.state === 'connected' && !this.#ending) this.#tell(this.#connectedStatus())
  }

  #tell(status: Status): void {
    this.#status = status
    this.#status$.next(status)
  }

  #connectedStatus(): Status {
    return { state: 'connected', keys: this.#registry.size, synced: this.#registry.synced }
  }

  #received(message: InboundMessage): void {
    if (message.topic === this.#responseTopic) this.#invoker.received(message)
    else if (message.topic.startsWith(this.#notificationPrefix)) this.#registry.received(message)
  }

  #end(cause: StateStoreError | undefined): void {
    this.#ending = true
    this.#release(cause)
    this.#tell({ state: 'closed', cause })
    this.#status$.complete()
    this.#errors$.complete()
    this.#resolveClosed()
  }

  /** Ends all streams: first the watches, which complete, then the requests, which fail. */
  #release(cause: StateStoreError | undefined): void {
    const error = cause
      ? new ClosedError(`The connection was closed for good: ${cause.message}`, { cause })
      : new ClosedError()
    this.#registry.close(cause && error, this.#session.shared)
    this.#invoker.close(error)
  }
}
