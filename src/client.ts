import { BehaviorSubject, map, type Observable, Subject } from 'rxjs'
import type { Clock } from './clock.js'
import { ClosedError, RequestRejectedError, type StateStoreError } from './errors.js'
import { bytes, type Codec } from './keys/codec.js'
import type { Entry } from './keys/entry.js'
import { type DeleteResult, Key, type SetResult } from './keys/key.js'
import { toKeyName } from './keys/key-name.js'
import type { DeleteOptions, RequestOptions, SetOptions } from './keys/options.js'
import { Registry } from './keys/registry.js'
import { type KeyHost, KeySource } from './keys/source.js'
import { watchAll } from './keys/watch-all.js'
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

/** MQTT 5.0, section 3.9.3: reason codes from here on are refusals. */
const FIRST_REFUSAL = 128

/**
 * A connection to a state store: typed keys, one-shot reads and writes, and what there is to know about the connection.
 * Made by {@link connect}.
 */
export class StateStore implements AsyncDisposable {
  /** MQTT client id. */
  readonly clientId: string
  /** State of the connection, the latest first; completes after `closed`. */
  readonly status$: Observable<Status>
  /** Faults that end no stream: values that do not decode, malformed messages. Hot; nothing is lost by not listening. */
  readonly errors$: Observable<StateStoreError>
  readonly #session: MqttSession
  readonly #keyHost: KeyHost
  readonly #status$ = new BehaviorSubject<Status>({ state: 'connecting' })
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #responseTopic: string
  readonly #notificationPrefix: string
  readonly #invoker: Invoker
  readonly #store: Store
  readonly #registry: Registry
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => undefined
  #ending = false

  /** Use {@link connect}. */
  constructor(session: MqttSession, settings: ClientSettings) {
    const { clientId } = session
    const { clock, timeout, queueLimit, stopDelay } = settings
    this.clientId = clientId
    this.status$ = this.#status$.asObservable()
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
    this.#store = new Store(this.#invoker, clock, clientId)
    const report = (error: StateStoreError): void => this.#errors$.next(error)
    this.#registry = new Registry({
      store: this.#store,
      clock,
      notificationPrefix: this.#notificationPrefix,
      timeout,
      stopDelay,
      report,
      changed: () => this.#progress(),
    })
    this.#keyHost = { store: this.#store, registry: this.#registry, timeout, report }
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
   * A key of the store. Without a codec its values are bytes. Throws `argument` for an empty key.
   *
   * @example
   * ```ts
   * const temperature = store.key('thermostat1\\temperature', number)
   * ```
   */
  key(name: string | Uint8Array): Key<Uint8Array>
  key<T>(name: string | Uint8Array, codec: Codec<T>): Key<T>
  key(name: string | Uint8Array, codec: Codec<unknown> = bytes): unknown {
    return new Key(new KeySource(toKeyName(name), codec, this.#keyHost))
  }

  /**
   * Watches a set of keys that changes: every value of `keys$` is the whole set, and what is new in it is watched, what
   * is gone no longer. Entries of all keys in one stream; a key is shared with whoever watches it otherwise. Errors as a
   * single watch does, for any key.
   *
   * @example
   * ```ts
   * const keys$ = ids$.pipe(map(ids => ids.map(id => `asset/${id}`)))
   * store.watchAll(keys$, json<Asset>()).subscribe(entry => table.set(entry.key, entry.value))
   * ```
   */
  watchAll<T>(keys$: Observable<Iterable<string | Uint8Array>>, codec: Codec<T>): Observable<Entry<T>> {
    return watchAll(keys$.pipe(map(names => Array.from(names, name => this.key(name, codec)))))
  }

  /** Reads a key once; see {@link Key.get}. */
  get<T>(name: string | Uint8Array, codec: Codec<T>, options?: RequestOptions): Observable<Entry<T>> {
    return this.key(name, codec).get(options)
  }

  /** Writes a key once; see {@link Key.set}. */
  set<T>(name: string | Uint8Array, value: T, codec: Codec<T>, options?: SetOptions): Observable<SetResult> {
    return this.key(name, codec).set(value, options)
  }

  /** Deletes a key; see {@link Key.delete}. */
  delete(name: string | Uint8Array, options?: DeleteOptions): Observable<DeleteResult> {
    return this.key(name).delete(options)
  }

  /** Deletes a key if it holds the value; see {@link Key.deleteIf}. */
  deleteIf<T>(name: string | Uint8Array, value: T, codec: Codec<T>, options?: DeleteOptions): Observable<DeleteResult> {
    return this.key(name, codec).deleteIf(value, options)
  }

  /**
   * Ends the connection: watches complete, requests fail with `closed`, or `outcome-unknown` for a write whose answer
   * had not come. Resolves when the connection is gone. May be called again.
   */
  close(): Promise<void> {
    if (!this.#ending) {
      this.#ending = true
      this.#release(undefined)
      this.#session.close()
    }
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
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
    this.#status$.next(this.#connectedStatus())
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
    this.#status$.next({ state: 'reconnecting', cause, attempt, retryAt })
  }

  #progress(): void {
    if (this.#status$.value.state === 'connected' && !this.#ending) this.#status$.next(this.#connectedStatus())
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
    this.#status$.next({ state: 'closed', cause })
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
