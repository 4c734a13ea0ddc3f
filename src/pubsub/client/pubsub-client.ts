import { defer, EMPTY, filter, finalize, Observable, ReplaySubject, Subject, type Subscriber, throwError } from 'rxjs'
import { type Awaitable, StoreRequest } from '../../core/util/awaitable.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ConnectionLostError, type StateStoreError } from '../../core/util/errors.js'
import { checkName } from '../wire/rules.js'
import { PROBE_GROUP } from './client-link.js'
import { ClientStateMachine } from './client-state-machine.js'
import { Driver, type UrlSource } from './driver.js'
import {
  type Action,
  type GroupMessage,
  type MachineSettings,
  onWallClock,
  type PubSubStatus,
  type RequestOutcome,
  type SendRequest,
  type SendResult,
  type ServerMessage,
} from './events.js'
import { type Gap, Group, type GroupHost } from './group.js'
import { clientClosedError } from './in-flight-request.js'
import { checkSendOptions, type SendOptions, toPayload } from './send.js'
import type { OpenSocket } from './ws-socket.js'

export interface PubSubClientSettings extends Omit<MachineSettings, 'bufferedBytes'> {
  readonly url: UrlSource
  readonly clock: Clock
  readonly openSocket: OpenSocket
  /** Loads the codec before the first send. `undefined` if the codec is bundled. */
  readonly ready?: () => Promise<void>
}

/**
 * A connection to a hub of Azure Web PubSub over a reliable subprotocol, with groups, events and connection state. Lost
 * connections are recovered without loss or duplicates. If a recovery fails, the client reports the consequences.
 * Created by {@link connectPubSub}.
 */
export class PubSubClient implements AsyncDisposable {
  /**
   * The connection's state. Emits the latest state on subscription, even after `stopped`, when it then completes.
   */
  readonly status$: Observable<PubSubStatus>
  /**
   * Emits faults that end no stream, such as malformed frames, rejected rejoins, and failed sends that nothing observes.
   * Hot. Subscribing is optional.
   */
  readonly errors$: Observable<StateStoreError>
  /**
   * The messages of the application's server to this connection. Hot. Messages sent while {@link status$} is
   * `disconnected` are missed. Ends as {@link Group.messages$} does.
   */
  readonly serverMessages$: Observable<ServerMessage>
  readonly #driver: Driver
  readonly #groupHost: GroupHost
  readonly #clock: Clock
  readonly #ready: (() => Promise<void>) | undefined
  /** The status subject. A `BehaviorSubject` would not replay the last state after completion. */
  readonly #status$ = new ReplaySubject<PubSubStatus>(1)
  #status: PubSubStatus = { state: 'connecting' }
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #serverMessages$ = new Subject<ServerMessage>()
  readonly #gaps$ = new Subject<Gap>()
  readonly #groups = new Map<string, Subject<GroupMessage>>()
  readonly #sends = new Map<SendRequest, Subscriber<SendResult>>()

  constructor(settings: PubSubClientSettings) {
    const { url, clock, openSocket, codec, timeout } = settings
    const machine = new ClientStateMachine({ ...settings, bufferedBytes: () => this.#driver.bufferedBytes })
    const { subprotocol } = codec
    this.#clock = clock
    this.#ready = settings.ready
    this.#driver = new Driver({
      machine,
      clock,
      openSocket,
      subprotocol,
      url,
      onAction: action => this.#onAction(action),
    })
    this.#groupHost = {
      timeout,
      send: request => this.#send(request),
      messages: group => this.#messages(group),
      gaps: group => this.#gaps$.pipe(filter(gap => gap.group === group)),
    }
    this.#status$.next(this.#status)
    this.status$ = this.#status$.asObservable()
    this.errors$ = this.#errors$.asObservable()
    this.serverMessages$ = this.#serverMessages$.asObservable()
    this.#driver.dispatch({ type: 'start' })
  }

  /**
   * Returns a group of the hub. The client joins the group when its messages are subscribed to. Throws `argument` for a
   * name that is blank, exceeds 1,024 characters or contains a lone surrogate, and for the reserved name
   * `rx-statestore:alive`.
   *
   * @example
   * ```ts
   * client.group('line-1').messages$.subscribe(({ data }) => show(data))
   * ```
   */
  group(name: string): Group {
    checkName('group', name)
    if (name === PROBE_GROUP) throw new ArgumentError(`The group ${PROBE_GROUP} is reserved for keep-alive`)
    return new Group(name, this.#groupHost)
  }

  /**
   * Sends an event to the application's server, at once. Fails as {@link Group.send} does.
   *
   * @example
   * ```ts
   * await client.sendEvent('click', { button: 'stop' })
   * ```
   */
  sendEvent(name: string, data: unknown, options: SendOptions = {}): Awaitable<SendResult> {
    checkName('event', name)
    const sending = checkSendOptions(options, this.#groupHost.timeout)
    const frame = { type: 'event', event: name, payload: toPayload(data, options.dataType) } as const
    return this.#send({ frame, ...sending })
  }

  /**
   * Closes the connection. Message streams complete, and sends fail with `closed`, or with `outcome-unknown` if they
   * are already sent but not acknowledged. Resolves when the socket is closed, after two seconds at the latest.
   * Idempotent in any state.
   */
  close(): Promise<void> {
    return this.#driver.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #send(message: SendRequest): Awaitable<SendResult> {
    const sending$ = new Observable<SendResult>(subscriber => {
      // Each attempt gets a copy, because requests are identified by object identity.
      const request = { ...message }
      const post = (): void => {
        if (subscriber.closed) return
        this.#sends.set(request, subscriber)
        this.#driver.dispatch({ type: 'send', request })
      }
      subscriber.add(() => {
        if (this.#sends.delete(request)) this.#driver.dispatch({ type: 'forget', request })
      })
      if (this.#ready === undefined) post()
      else
        this.#ready().then(post, cause =>
          subscriber.error(new ConnectionLostError('The codec failed to load', { cause })),
        )
    })
    return new StoreRequest(
      () => sending$,
      error => this.#errors$.next(error),
    )
  }

  #messages(name: string): Observable<GroupMessage> {
    return defer(() => {
      const status = this.#status
      if (status.state === 'stopped') return status.cause ? throwError(() => clientClosedError(status.cause)) : EMPTY
      const messages = this.#groups.get(name) ?? this.#join(name)
      return messages.pipe(finalize(() => this.#leaveIfUnobserved(name, messages)))
    })
  }

  #join(group: string): Subject<GroupMessage> {
    const messages = new Subject<GroupMessage>()
    this.#groups.set(group, messages)
    this.#driver.dispatch({ type: 'join', group, member: messages })
    return messages
  }

  #leaveIfUnobserved(group: string, messages: Subject<GroupMessage>): void {
    if (messages.observed || this.#groups.get(group) !== messages) return
    this.#groups.delete(group)
    this.#driver.dispatch({ type: 'leave', group })
  }

  #onAction(action: Action): void {
    switch (action.type) {
      case 'groupMessage':
        this.#groups.get(action.message.group)?.next(action.message)
        break
      case 'serverMessage':
        this.#serverMessages$.next(action.message)
        break
      case 'settled':
        this.#settle(action.request, action.outcome)
        break
      case 'groupFailed':
        this.#failGroup(action.group, action.member, action.error)
        break
      case 'gap':
        this.#gaps$.next({ group: action.group, from: action.since + this.#wallOffset(), to: this.#clock.now() })
        break
      case 'report':
        this.#errors$.next(action.error)
        break
      case 'status':
        this.#publishStatus(onWallClock(action.status, this.#wallOffset()))
        break
    }
  }

  #settle(request: SendRequest, outcome: RequestOutcome): void {
    const subscriber = this.#sends.get(request)
    if (subscriber === undefined) return
    this.#sends.delete(request)
    if (!outcome.ok) {
      subscriber.error(outcome.error)
      return
    }
    subscriber.next(outcome.result)
    subscriber.complete()
  }

  #failGroup(group: string, member: object, error: StateStoreError): void {
    const messages = this.#groups.get(group)
    if (messages !== member) return
    this.#groups.delete(group)
    messages.error(error)
  }

  #publishStatus(status: PubSubStatus): void {
    this.#status = status
    this.#status$.next(status)
    if (status.state !== 'stopped') return
    const { cause } = status
    const end = <T>(stream: Subject<T>): void => (cause ? stream.error(clientClosedError(cause)) : stream.complete())
    for (const messages of Array.from(this.#groups.values())) end(messages)
    this.#groups.clear()
    end(this.#serverMessages$)
    this.#gaps$.complete()
    this.#errors$.complete()
    this.#status$.complete()
  }

  #wallOffset(): number {
    return this.#clock.now() - this.#clock.monotonic()
  }
}
