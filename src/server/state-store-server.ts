import type { Subject } from 'rxjs'
import type { Clock } from '../base/clock.js'
import type { Applier, Change, Engine, Restoration } from '../engine/engine.js'
import { commandOf, type Entry, isWrite, type Owner, type Restored } from '../engine/entry.js'
import type { Log, LogFailure } from '../log/log.js'
import type { ReasonCode } from '../packet/reason-code.js'
import * as REASON from '../packet/reason-codes.js'
import type { Command } from '../protocol/commands.js'
import { CONTENT_TYPE } from '../protocol/properties.js'
import type { Dialect, Reply } from '../protocol/replies.js'
import { INVOKE_TOPIC, isAllowedResponseTopic } from '../protocol/topics.js'
import { isResponseTopic, maySubscribe, publishRefusal, ResponseTopics, type TopicRights } from './access.js'
import type { Connection, Content, Outgoing } from './connection.js'
import { DriftWatch } from './drift-watch.js'
import { LoadJob, type RequestHost, RequestJob } from './jobs.js'
import { Notifier } from './notifier.js'
import { Sequencer, type SequencerHost } from './sequencer.js'
import type { InvokeResponse, StateStoreService, UserProperties } from './service.js'

export type { Connection, Content, Outgoing } from './connection.js'

/** A PUBLISH on its way in or out, without the packet around it. */
export interface Message {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly responseTopic?: string | undefined
  readonly correlationData?: Uint8Array | undefined
  /** It may have come before. */
  readonly dup?: boolean | undefined
  /** s */
  readonly messageExpiry?: number | undefined
  readonly userProperties: UserProperties
}

/** Why a PUBLISH is refused; with `disconnect` the connection ends as well. */
export interface Refusal {
  readonly reason: string
  readonly disconnect?: ReasonCode
}

/** What happened to a request, for those who operate the store. */
export interface RequestReport {
  readonly clientId: string
  readonly payload: Uint8Array
  /** What the store answered, or `rejected` when it did not look at the request. */
  readonly outcome: Reply['type'] | 'rejected'
}

export interface StateStoreServerOptions {
  readonly dialect: Dialect
  /** `registered`: to whoever registered (as in the field); `subscribed`: only if it subscribed to the topic, too. */
  readonly notifications: 'registered' | 'subscribed'
  readonly clock: Clock
  /** What clients may do with other topics than the store's; default everything. */
  readonly rights?: TopicRights | undefined
  /** To whose quota of keys a connection writes; default nobody's. */
  ownerOf?(connection: Connection): Owner | undefined
  /** Publishes to whoever subscribes to the topic, for responses to somewhere else than the requester. */
  publish(message: Outgoing): void
  /** Versions have begun to run ahead of the wall clock, by so many ms, or (0) do so no more. */
  drifted(drift: number): void
  /** The log takes entries no more, or takes them again. */
  stored(failure: LogFailure | undefined): void
  /** An error of the store itself. */
  faulted(error: unknown): void
  /** A request was refused as it would be more than there may be. */
  exceeded?(connection: Connection, message: Message): void
}

/** Counts since the start. */
export interface Counters {
  requests: number
  errors: number
  notifications: number
}

/** When the disk did not take what was due, it is tried again after so many ms. */
const RETRY = 1_000
/** What a request takes while it waits, besides its payload, bytes. */
const OVERHEAD = 200

/**
 * The state store at a broker: answers requests, tells watchers, deletes what expires. It knows connections and
 * messages but no broker. What changes records goes through a log, and is answered when it is there.
 */
export class StateStoreServer implements RequestHost<Message>, SequencerHost {
  readonly counters: Counters = { requests: 0, errors: 0, notifications: 0 }
  readonly service: StateStoreService<Connection>
  readonly #engine: Engine<Connection>
  readonly #options: StateStoreServerOptions
  readonly #responseTopics = new ResponseTopics()
  readonly #notifier: Notifier
  readonly #requests$: Subject<RequestReport>
  readonly #driftWatch: DriftWatch
  readonly #sequencer: Sequencer
  #cancelExpiry: (() => void) | undefined
  #armedFor: number | undefined
  #paused = false
  #failure: LogFailure | undefined

  constructor(
    engine: Engine<Connection>,
    service: StateStoreService<Connection>,
    log: Log,
    requests$: Subject<RequestReport>,
    options: StateStoreServerOptions,
  ) {
    this.#engine = engine
    this.service = service
    this.#requests$ = requests$
    this.#options = options
    this.#driftWatch = new DriftWatch(drift => options.drifted(drift))
    this.#notifier = new Notifier(options.dialect, options.notifications === 'subscribed')
    this.#sequencer = new Sequencer(log, this)
  }

  /** Why a PUBLISH must not be accepted, if so. A forbidden response topic ends the connection as well. */
  refuse(connection: Connection, message: Message): Refusal | undefined {
    const reason = this.#objection(connection, message)
    if (reason === undefined) return undefined
    const forbidden =
      message.topic === INVOKE_TOPIC && message.responseTopic && !isAllowedResponseTopic(message.responseTopic)
    return forbidden ? { reason, disconnect: REASON.topicNameInvalid } : { reason }
  }

  /** Whether a client may subscribe to a filter. */
  maySubscribe(connection: Connection, filter: string): boolean {
    if (!maySubscribe(connection.clientId, filter)) return false
    return this.#options.rights?.maySubscribe(connection, filter) ?? true
  }

  /** Takes a PUBLISH if it is a request to the store; then nobody else gets it. */
  take(connection: Connection, message: Message): boolean {
    if (message.topic !== INVOKE_TOPIC) return false
    if (message.responseTopic === undefined || message.correlationData === undefined) return true
    if (this.#sequencer.full) {
      this.respond(connection, message, this.service.failed({ problem: 'full' }))
      return true
    }
    const command = commandOf(message.payload)
    const job = new RequestJob(this, connection, message, command)
    const bytes = message.payload.length + OVERHEAD
    if (command !== undefined && isWrite(command) && this.#mayWrite(connection, command, message)) {
      const write = this.service.writeOf(message, command, connection.clientId, this.#options.ownerOf?.(connection))
      this.#sequencer.write(connection, write, bytes, job)
      return true
    }
    if (this.#due) this.#sequencer.tick(connection)
    this.#sequencer.read(connection, bytes, job)
    return true
  }

  /** Forgets a connection and its registrations. */
  drop(connection: Connection): void {
    this.#engine.watchers.drop(connection)
  }

  /** Stores records of a dump and tells watchers. Rejects with {@link CommandError} or {@link LogFailure}. */
  restore(items: readonly Restored[], replace: boolean): Promise<Restoration> {
    return new Promise((resolve, reject) => {
      const bytes = items.reduce((sum, { key, value }) => sum + key.length + value.length, 0)
      const job = new LoadJob(changes => this.#notify(changes), resolve, reject)
      this.#sequencer.write(this, { type: 'load', items, replace }, bytes, job)
    })
  }

  /** Lets nothing expire of itself any more. */
  pause(): void {
    this.#paused = true
    this.#armExpiry()
  }

  /** Lets expire what is due by now, and goes on. */
  resume(): void {
    this.#paused = false
    this.#armExpiry()
  }

  /** Nothing is done or answered any more. */
  stop(): void {
    this.pause()
    this.#sequencer.stop()
  }

  now(): number {
    return this.#options.clock.now()
  }

  room(): Engine<Connection>['room'] {
    return this.#engine.room
  }

  apply(entry: Entry, applier: Applier): void {
    this.#engine.apply(entry, applier)
  }

  expired(changes: readonly Change[]): void {
    this.#notify(changes)
  }

  settled(failure: LogFailure | undefined): void {
    const changed = failure?.problem !== this.#failure?.problem
    this.#failure = failure
    if (changed) this.#options.stored(failure)
    this.#armExpiry()
    this.#driftWatch.look(this.#engine.drift(this.now()))
  }

  faulted(error: unknown): void {
    this.#options.faulted(error)
  }

  /** Sends a response, and tells watchers what changed. */
  respond(connection: Connection, message: Message, response: InvokeResponse): void {
    // A last will is published when its connection is gone: it may change keys, but there is nobody to notify.
    if (!connection.open) this.#engine.watchers.drop(connection)
    const { reply, work } = response
    this.#report(connection, message, reply)
    if (work !== undefined) connection.account?.worked(work)
    if (reply?.type === 'error' && reply.code === 'quota-exceeded') this.#options.exceeded?.(connection, message)
    this.#answer(connection, message, response)
    this.#notify(response.changes)
  }

  /** What is refused anyhow need not be kept. */
  #mayWrite(connection: Connection, command: Command, message: Message): boolean {
    return this.service.refuse(message) === undefined && this.#engine.allows(connection, command)
  }

  get #due(): boolean {
    const { nextDeadline } = this.#engine
    return nextDeadline !== undefined && nextDeadline <= this.now() && this.#failure?.problem !== 'broken'
  }

  #objection(connection: Connection, { topic, responseTopic, correlationData }: Message): string | undefined {
    if (topic !== INVOKE_TOPIC) return publishRefusal(topic) ?? this.#withoutRight(connection, topic)
    if (responseTopic === undefined) return 'a state store request needs a response topic'
    if (!isAllowedResponseTopic(responseTopic)) return 'this response topic is not allowed in a state store request'
    if (correlationData === undefined) return 'a state store request needs correlation data'
    const refusal = this.#responseTopics.refusal(connection, responseTopic)
    if (refusal !== undefined || this.#options.rights === undefined || isResponseTopic(responseTopic)) return refusal
    return this.#withoutRight(connection, responseTopic)
  }

  #withoutRight(connection: Connection, topic: string): string | undefined {
    const allowed = this.#options.rights?.mayPublish(connection, topic) ?? true
    return allowed ? undefined : 'no rule lets this client publish there'
  }

  #answer(connection: Connection, { responseTopic, correlationData }: Message, response: InvokeResponse): void {
    if (responseTopic === undefined || correlationData === undefined) return
    const content: Content = {
      payload: response.payload,
      // A copy: with the answer, which may have to wait, all that was read with the request would be kept.
      correlationData: new Uint8Array(correlationData),
      contentType: CONTENT_TYPE,
      userProperties: response.userProperties,
    }
    if (connection.subscribes(responseTopic)) connection.deliver(responseTopic, content)
    // Nobody else is to have it, if the client does not want it itself.
    else if (!isResponseTopic(responseTopic)) this.#options.publish({ topic: responseTopic, ...content })
  }

  #notify(changes: readonly Change[]): void {
    for (const change of changes) {
      this.counters.notifications += this.#notifier.notify(change, this.#engine.watchersOf(change.key))
    }
  }

  #report(connection: Connection, message: Message, reply: Reply | undefined): void {
    this.counters.requests++
    if (reply === undefined || reply.type === 'error') this.counters.errors++
    if (!this.#requests$.observed) return
    this.#requests$.next({
      clientId: connection.clientId,
      payload: message.payload,
      outcome: reply?.type ?? 'rejected',
    })
  }

  // One timer, for the earliest deadline of all keys.
  #armExpiry(): void {
    const deadline = this.#paused || this.#failure?.problem === 'broken' ? undefined : this.#engine.nextDeadline
    const at = deadline !== undefined && this.#failure ? Math.max(deadline, this.now() + RETRY) : deadline
    if (at === this.#armedFor) return
    this.#cancelExpiry?.()
    this.#armedFor = at
    this.#cancelExpiry =
      at === undefined ? undefined : this.#options.clock.schedule(at - this.now(), () => this.#expire())
  }

  #expire(): void {
    this.#armedFor = undefined
    this.#sequencer.tick()
  }
}
