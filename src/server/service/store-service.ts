import type { Subject } from 'rxjs'
import { serverChangeChannel, serverRequestChannel } from '../../core/diagnostics/server-channels.js'
import type { ServerChangeEvent, ServerRequestTrace } from '../../core/diagnostics/server-events.js'
import type { Content, Incoming, Publish } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { userPropertyFilter } from '../../core/mqtt5/user-properties.js'
import { CONTENT_TYPE } from '../../core/protocol/properties.js'
import type { Dialect, Reply } from '../../core/protocol/replies.js'
import { afterIo, type Clock } from '../../core/util/clock.js'
import type { Engine, EntryResult, KeyChange, RestoreResult } from '../engine/engine.js'
import type { LoggedWrite, Owner, RestoredRecord } from '../engine/entry.js'
import type { Log, LogFailure, Sharing } from '../log/log.js'
import type { Job } from './batch.js'
import { CommitLoop, type CommitLoopHost } from './commit-loop.js'
import { type InvokeResponse, type ParsedRequest, RequestProcessor, type VolatileRule } from './request-processor.js'
import { settleTrace, traceOf } from './request-trace.js'
import { driftOf, type StoreTime } from './store-clock.js'
import { isResponseTopic, type TopicRights, TopicRules } from './topic-rules.js'
import { WatchNotifier } from './watch-notifier.js'

/** A request's outcome, for operators. */
export interface RequestReport {
  readonly clientId: string
  readonly payload: Uint8Array
  /** The type of the reply, or `rejected` if the request did not reach the engine. */
  readonly outcome: Reply['type'] | 'rejected'
  /**
   * Whether the request is a redelivered write. If so, the earlier reply was repeated and the write was not applied
   * again.
   */
  readonly repeated: boolean
  /** The time in ms from the arrival of the request. `undefined` if requests were not observed when it arrived. */
  readonly duration: number | undefined
}

export interface StoreServiceOptions {
  readonly engine: Engine<Client>
  readonly log: Log
  readonly clock: StoreTime
  readonly dialect: Dialect
  readonly isVolatile?: VolatileRule | undefined
  /**
   * The clients to notify. `registered`: every registered client, as in Azure IoT Operations. `subscribed`: only
   * clients that also subscribe to the topic.
   */
  readonly notifications: 'registered' | 'subscribed'
  /** Runs a task after the pending I/O events. Default: the event loop's function, which simulations replace. */
  readonly afterIo?: ((task: () => void) => void) | undefined
  /**
   * Returns the delay in ms of the expiry of keys that are not accessed, so that nodes do not all expire them together.
   * Default: 0.
   */
  readonly expiryDelayMs?: (() => number) | undefined
  /** The access rights to topics other than the store's. Default: access to all topics. */
  readonly rights?: TopicRights | undefined
  readonly requests$?: Subject<RequestReport> | undefined
  /** Returns the principal to charge for a connection's keys. Default: none. */
  ownerOf?(connection: Client): Owner | undefined
  /**
   * Sends a response instead of the connection. `message` is the request passed to {@link StoreService.handleRequest},
   * and `content` contains views of the request.
   */
  sendResponse?(connection: Client, message: Incoming, content: Content): void
  /** Returns the broker's maximum packet size in bytes if a response passed to {@link sendResponse} exceeds it. */
  exceededPacketSize?(message: Incoming, content: Content): number | undefined
  /** Publishes a response whose topic is not the requester's own to all its subscribers. */
  publish(message: Publish): void
  /**
   * Called with the drift in ms when versions start to run ahead of the wall clock, and with 0 when they no longer do.
   */
  onDrift(drift: number): void
  /**
   * Called with the failure when the log starts to reject entries, and with `undefined` when the log accepts entries
   * again.
   */
  onLogHealth(failure: LogFailure | undefined): void
  onError(error: unknown): void
  /** Called when a client uses a topic or filter that the store reserves, regardless of the client's rights. */
  onTopicRejected?(connection: Client, action: 'publish' | 'subscribe', topic: string): void
  onQuotaExceeded?(connection: Client, message: Incoming): void
}

export interface RequestMessage extends Incoming {
  /** Whether the broker delivered the message before. Default: `dup`. */
  readonly isRedelivery?: boolean | undefined
}

/** The number of watches of an ended connection that are removed before others are served. */
const MAX_WATCHES_REMOVED = 1_000

/** The counts since the store was opened. */
export interface Counters {
  requests: number
  errors: number
  notifications: number
}

/** How long after such a rejection a store counts as rejecting clients because of its clock. */
const CLOCK_REJECTION_MS = 300_000

/**
 * The state store behind a broker. It passes requests to the commit loop, and sends responses to requesters and
 * notifications to watchers. It handles connections and messages, and does not depend on a broker.
 */
export class StoreService implements CommitLoopHost {
  readonly counters: Counters = { requests: 0, errors: 0, notifications: 0 }
  readonly rules: TopicRules
  readonly #options: StoreServiceOptions
  /** The time of the last request that was rejected because of its clock, monotonic ms. */
  #clockRejectedAt = Number.NEGATIVE_INFINITY
  readonly #engine: Engine<Client>
  readonly #commitLoop: CommitLoop
  readonly #watchNotifier: WatchNotifier
  readonly #requestHost: RequestHost
  readonly #filterProperties: ReturnType<typeof userPropertyFilter>

  /** The time in ms by which the machine's clock is behind the store's time or its versions, otherwise 0. */
  get drift(): number {
    return driftOf(this.#engine, this.#options.clock)
  }

  /** Whether the clock was set back and requests were rejected lately because their clocks are ahead of it. */
  get isRejectingClocks(): boolean {
    return this.drift > 0 && this.#options.clock.monotonic() - this.#clockRejectedAt < CLOCK_REJECTION_MS
  }

  constructor(options: StoreServiceOptions) {
    const { engine, log, clock, afterIo: runAfterIo, expiryDelayMs } = options
    this.#options = options
    this.#engine = engine
    this.rules = new TopicRules(options.rights, (...args) => options.onTopicRejected?.(...args))
    this.#watchNotifier = new WatchNotifier(options.dialect, options.notifications === 'subscribed')
    this.#filterProperties = userPropertyFilter(error => options.onError(error))
    this.#commitLoop = new CommitLoop({ log, engine, clock, afterIo: runAfterIo, expiryDelayMs, host: this })
    this.#requestHost = {
      processor: new RequestProcessor(options),
      clock,
      reads: log.sharing?.reads,
      respond: (job, response) => this.#respond(job, response),
    }
  }

  /** Handles a PUBLISH to the invoke topic that passed {@link rules}. Returns whether its response is imminent. */
  handleRequest(connection: Client, message: RequestMessage): boolean {
    if (message.responseTopic === undefined || message.correlationData === undefined) return false
    const job = new RequestJob(this.#requestHost, connection, message)
    if (this.#options.requests$?.observed) job.arrivedAt = this.#options.clock.monotonic()
    if (!serverRequestChannel.hasSubscribers) return this.#commitLoop.submit(job)
    return serverRequestChannel.begin(job.startTrace(), () => this.#commitLoop.submit(job))
  }

  /** Ends a connection's watches. Removes many of them in parts, between which other requests are processed. */
  readonly removeConnection = (connection: Client): void => {
    const hasMore = this.#engine.watchers.removeConnection(connection, MAX_WATCHES_REMOVED)
    if (hasMore) (this.#options.afterIo ?? afterIo)(() => this.removeConnection(connection))
  }

  /** Loads the records of a dump and notifies watchers. Rejects with {@link CommandError} or {@link LogFailure}. */
  restore(items: readonly RestoredRecord[], replace: boolean): Promise<RestoreResult> {
    return new Promise((resolve, reject) => {
      this.#commitLoop.submit({
        owner: this,
        bytes: items.reduce((sum, { key, value }) => sum + key.length + value.length, 0),
        command: { type: 'load', items, replace },
        read: () => undefined,
        onApplied: result => {
          if (result.type !== 'loaded') return
          this.onChanges(result.changes)
          if ('changes' in result.outcome) resolve(result.outcome)
          else reject(result.outcome)
        },
        onFailed: reject,
        onStopped: reject,
      })
    })
  }

  /** Pauses the expiry of keys that are not accessed. */
  pause(): void {
    this.#commitLoop.expiry.pause()
  }

  resume(): void {
    this.#commitLoop.expiry.resume()
  }

  /** Stops the service. Afterwards, it processes and answers no requests, not even requests published as wills. */
  stop(): void {
    this.#commitLoop.stop()
  }

  /** Updates the log's state when a caller knows it from another source than an entry. */
  report(failure: LogFailure | undefined): void {
    this.#commitLoop.report(failure)
  }

  /**
   * Notifies the watchers of changes.
   *
   * @param properties - user properties for the notifications
   */
  onChanges(changes: readonly KeyChange[], properties?: Readonly<Record<string, string>>): void {
    for (const change of changes) {
      const notified = this.#watchNotifier.notify(change, this.#engine.watchersOf(change.key), properties)
      this.counters.notifications += notified
      if (serverChangeChannel.hasSubscribers)
        serverChangeChannel.publish({ key: change.key, type: changeType(change), version: change.version, notified })
    }
  }

  onDrift(drift: number): void {
    this.#options.onDrift(drift)
  }

  onLogHealth(failure: LogFailure | undefined): void {
    this.#options.onLogHealth(failure)
  }

  onError(error: unknown): void {
    this.#options.onError(error)
  }

  #respond(job: RequestJob, result: InvokeResponse): void {
    const { owner: connection, message, trace } = job
    const response = this.#fitToClient(job, result)
    // A will is published after its client's connection has closed. It may change keys, but its client receives no
    // notifications.
    if (!connection.open) this.#engine.watchers.removeConnection(connection)
    const { work, changes } = response
    this.#report(job, response)
    const globWork = this.#engine.globWorkOf(changes)
    if (work !== undefined || globWork > 0) connection.account?.chargeWork((work ?? 0) + globWork)
    if (trace === undefined) {
      this.#answer(connection, message, response)
      this.onChanges(changes)
    } else
      settleTrace(trace, response, () => {
        this.#answer(connection, message, response)
        this.onChanges(changes, this.#filterProperties(trace.notificationProperties))
      })
  }

  /**
   * Replaces a reply that exceeds the maximum packet size of the client or the broker by an error, because the client
   * would otherwise wait until its timeout. Only reads have large replies.
   */
  #fitToClient({ owner, message }: RequestJob, response: InvokeResponse): InvokeResponse {
    const { responseTopic } = message
    const type = response.reply?.type
    if (responseTopic === undefined || (type !== 'value' && type !== 'page')) return response
    const content = contentOf(message, response)
    const { processor } = this.#requestHost
    const brokerMaximum = this.#options.exceededPacketSize?.(message, content)
    if (brokerMaximum !== undefined) return processor.tooLargeResponse(response, 'broker', brokerMaximum)
    // A client that is not subscribed does not receive the response.
    const clientMaximum = owner.subscribes(responseTopic)
      ? owner.exceededPacketSize?.(responseTopic, content)
      : undefined
    return clientMaximum === undefined ? response : processor.tooLargeResponse(response, 'client', clientMaximum)
  }

  #report({ owner: connection, message, arrivedAt }: RequestJob, { reply, repeated }: InvokeResponse): void {
    this.counters.requests++
    if (reply === undefined || reply.type === 'error') {
      this.counters.errors++
      if (reply?.code === 'clock-skew' || reply?.code === 'fencing-token-skew')
        this.#clockRejectedAt = this.#options.clock.monotonic()
      if (reply?.code === 'quota-exceeded') this.#options.onQuotaExceeded?.(connection, message)
    }
    const { requests$, clock } = this.#options
    if (!requests$?.observed) return
    requests$.next({
      clientId: connection.clientId,
      payload: message.payload,
      outcome: reply?.type ?? 'rejected',
      repeated: repeated === true,
      duration: arrivedAt === undefined ? undefined : clock.monotonic() - arrivedAt,
    })
  }

  #answer(connection: Client, message: Incoming, response: InvokeResponse): void {
    const { responseTopic, correlationData } = message
    if (responseTopic === undefined || correlationData === undefined) return
    const content = contentOf(message, response)
    if (this.#options.sendResponse) this.#options.sendResponse(connection, message, content)
    else if (connection.subscribes(responseTopic)) connection.deliver(responseTopic, content)
    // If a client has not subscribed to its own response topic, other clients must not receive the response.
    else if (!isResponseTopic(responseTopic)) {
      // The data is copied, because a queued response would otherwise retain the whole network buffer of the request.
      this.#options.publish({ topic: responseTopic, ...content, correlationData: new Uint8Array(correlationData) })
    }
  }
}

const contentOf = ({ correlationData }: Incoming, response: InvokeResponse): Content => ({
  payload: response.payload,
  correlationData,
  contentType: CONTENT_TYPE,
  userProperties: response.userProperties,
  commonProperties: response.commonProperties,
})

const REQUEST_OVERHEAD_BYTES = 200

interface RequestHost {
  readonly processor: RequestProcessor<Client>
  readonly clock: Clock
  /** The consistency of reads when nodes share the log. */
  readonly reads: Sharing['reads'] | undefined
  respond(job: RequestJob, response: InvokeResponse): void
}

/**
 * Returns whether a read must see all entries committed by other nodes. A registration always must, because the client
 * may have been connected to another node before, and this node must not send values older than those that the other
 * node sent.
 */
function needsLinearizableRead(request: ParsedRequest, reads: Sharing['reads'] | undefined): boolean {
  if (reads === undefined || request.type !== 'read') return false
  const { verb } = request.command
  return reads === 'linearizable' || verb === 'KEYNOTIFY' || verb === 'GLOBNOTIFY'
}

const isRedelivered = ({ dup, isRedelivery = dup }: RequestMessage): boolean => isRedelivery === true

class RequestJob implements Job {
  readonly owner: Client
  readonly bytes: number
  readonly command: LoggedWrite | undefined
  readonly isLinearizable: boolean
  readonly message: RequestMessage
  trace: ServerRequestTrace | undefined
  /** The monotonic time of the arrival in ms, if requests were observed at that time. */
  arrivedAt: number | undefined
  readonly #request: ParsedRequest
  readonly #host: RequestHost

  constructor(host: RequestHost, owner: Client, message: RequestMessage) {
    const request = host.processor.parse(message, owner)
    this.owner = owner
    this.bytes = message.payload.length + REQUEST_OVERHEAD_BYTES
    this.command = request.type === 'write' ? request : undefined
    this.isLinearizable = needsLinearizableRead(request, host.reads)
    this.message = message
    this.#request = request
    this.#host = host
  }

  startTrace(): ServerRequestTrace {
    this.trace = traceOf(this.owner.clientId, this.message, this.#request, this.#host.clock.monotonic())
    return this.trace
  }

  read(): void {
    const { processor, clock } = this.#host
    if (this.#request.type === 'rejected') this.#respond(this.#request.response)
    if (this.#request.type === 'read') this.#respond(processor.query(this.#request, this.owner, clock.now()))
  }

  onApplied(result: EntryResult): void {
    if (result.type === 'answered') this.#respond(this.#host.processor.respond(result.answer))
  }

  onFailed(failure: LogFailure): void {
    // Without a response, the client treats the outcome as unknown. An earlier copy of a repeated write may be logged.
    if (failure.mayBeLogged || (this.command !== undefined && isRedelivered(this.message))) this.#endUnanswered()
    else this.#respond(this.#host.processor.failureResponse(failure))
  }

  onStopped(): void {
    this.#endUnanswered()
  }

  #respond(response: InvokeResponse): void {
    this.#host.respond(this, response)
  }

  #endUnanswered(): void {
    if (this.trace === undefined) return
    this.trace.outcome = 'unknown'
    serverRequestChannel.settle(this.trace, true, () => undefined)
  }
}

function changeType({ notification, isExpired, isNew }: KeyChange): ServerChangeEvent['type'] {
  if (notification.op === 'delete') return isExpired ? 'expired' : 'deleted'
  return isNew ? 'inserted' : 'modified'
}
