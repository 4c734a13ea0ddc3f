import type { Subject } from 'rxjs'
import type { Content, Incoming, Publish } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { encodeNotification } from '../../core/protocol/notifications.js'
import { CONTENT_TYPE, type GoneReason, PROPERTY, PROTOCOL_VERSION } from '../../core/protocol/properties.js'
import type { Dialect, Reply } from '../../core/protocol/replies.js'
import { notificationPrefix } from '../../core/protocol/topics.js'
import { toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { Applied, Change, Engine, Restoration } from '../engine/engine.js'
import type { Owner, Restored, Write } from '../engine/entry.js'
import type { Log, LogFailure, Sharing } from '../log/log.js'
import type { Job } from './batch.js'
import { CommitLoop, type CommitLoopHost } from './commit-loop.js'
import { type InvokeResponse, type ParsedRequest, RequestProcessor, type VolatileRule } from './request-processor.js'
import { isResponseTopic, isTopicName, type TopicRights, TopicRules } from './topic-rules.js'

/** What happened to a request, for those who operate the store. */
export interface RequestReport {
  readonly clientId: string
  readonly payload: Uint8Array
  /** What the store answered, or `rejected` when it did not look at the request. */
  readonly outcome: Reply['type'] | 'rejected'
  /** Whether it is a write that came before: it was answered as it was then, and not done again. */
  readonly repeated: boolean
}

/** How a store at a broker is to be, and what it tells. */
export interface StoreServiceOptions {
  readonly engine: Engine<Client>
  readonly log: Log
  readonly clock: Clock
  readonly dialect: Dialect
  /** Which keys are not to outlive this start of the store; default none. */
  readonly isVolatile?: VolatileRule | undefined
  /**
   * `registered`: to all that registered (as in the field); `subscribed`: only to those that subscribed to the topic,
   * too.
   */
  readonly notifications: 'registered' | 'subscribed'
  /** Runs a task when what the event loop has read is worked off; default the event loop's own, simulations have another. */
  readonly afterIo?: ((task: () => void) => void) | undefined
  /** How much later than due keys expire by themselves, ms, so that not all nodes see to it at once; default not at all. */
  readonly reluctance?: (() => number) | undefined
  /** What clients may do with other topics than the store's; default everything. */
  readonly rights?: TopicRights | undefined
  /** Takes a report of each request; default nobody. */
  readonly requests$?: Subject<RequestReport> | undefined
  /** To whose quota of keys a connection writes; default nobody's. */
  ownerOf?(connection: Client): Owner | undefined
  /**
   * Takes the answer to a request, in place of the connection; `message` is what {@link StoreService.take} was given, and
   * the content has views of it.
   */
  answer?(connection: Client, message: Incoming, content: Content): void
  /** Publishes to all subscribers of the topic, for responses that go elsewhere than to the requester. */
  publish(message: Publish): void
  /** Versions have begun to run ahead of the wall clock, by so many ms, or (0) do so no more. */
  drifted(drift: number): void
  /** The log takes entries no more, or takes them again. */
  stored(failure: LogFailure | undefined): void
  /** An error of the store itself. */
  faulted(error: unknown): void
  /** A client wanted a topic or filter that is not for it, whatever its rights. */
  refused?(connection: Client, action: 'publish' | 'subscribe', topic: string): void
  /** A request was refused as it would be more than there may be. */
  exceeded?(connection: Client, message: Incoming): void
}

/** Counts since the start. */
export interface Counters {
  requests: number
  errors: number
  notifications: number
}

/**
 * The state store at a broker: takes requests to the commit loop, and sends what comes of them: answers to who asked,
 * notifications to who watches. It knows connections and messages but no broker.
 */
export class StoreService implements CommitLoopHost {
  readonly counters: Counters = { requests: 0, errors: 0, notifications: 0 }
  readonly rules: TopicRules
  readonly #options: StoreServiceOptions
  readonly #engine: Engine<Client>
  readonly #commits: CommitLoop
  readonly #watchNotifier: WatchNotifier
  readonly #requestHost: RequestHost

  constructor(options: StoreServiceOptions) {
    const { engine, log, clock, afterIo, reluctance } = options
    this.#options = options
    this.#engine = engine
    this.rules = new TopicRules(options.rights, (...what) => options.refused?.(...what))
    this.#watchNotifier = new WatchNotifier(options.dialect, options.notifications === 'subscribed')
    this.#commits = new CommitLoop({ log, engine, clock, afterIo, reluctance, host: this })
    this.#requestHost = {
      service: new RequestProcessor(options),
      clock,
      reads: log.sharing?.reads,
      respond: (connection, message, response) => this.#respond(connection, message, response),
    }
  }

  /** Takes a PUBLISH to the invoke topic that the rules let pass. Returns whether its answer may be waited for. */
  take(connection: Client, message: Incoming): boolean {
    if (message.responseTopic === undefined || message.correlationData === undefined) return false
    return this.#commits.take(new RequestJob(this.#requestHost, connection, message))
  }

  /** Forgets a connection and its registrations. */
  drop(connection: Client): void {
    this.#engine.watchers.drop(connection)
  }

  /** Stores records of a dump and tells watchers. Rejects with {@link CommandError} or {@link LogFailure}. */
  restore(items: readonly Restored[], replace: boolean): Promise<Restoration> {
    return new Promise((resolve, reject) => {
      this.#commits.take({
        owner: this,
        bytes: items.reduce((sum, { key, value }) => sum + key.length + value.length, 0),
        command: { type: 'load', items, replace },
        read: () => undefined,
        applied: result => {
          if (result.type !== 'loaded') return
          this.changed(result.changes)
          if ('changes' in result.outcome) resolve(result.outcome)
          else reject(result.outcome)
        },
        failed: reject,
        stopped: reject,
      })
    })
  }

  /** Lets nothing expire of itself any more. */
  pause(): void {
    this.#commits.expiry.pause()
  }

  /** Lets expire what is due by now, and goes on. */
  resume(): void {
    this.#commits.expiry.resume()
  }

  /** Nothing is done or answered any more, last wills included. */
  stop(): void {
    this.#commits.stop()
  }

  /** Hears whether the log takes entries, from who has it otherwise than by an entry. */
  report(failure: LogFailure | undefined): void {
    this.#commits.report(failure)
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) {
      this.counters.notifications += this.#watchNotifier.notify(change, this.#engine.watchersOf(change.key))
    }
  }

  drifted(drift: number): void {
    this.#options.drifted(drift)
  }

  stored(failure: LogFailure | undefined): void {
    this.#options.stored(failure)
  }

  faulted(error: unknown): void {
    this.#options.faulted(error)
  }

  /** Sends a response, and tells watchers what changed. */
  #respond(connection: Client, message: Incoming, response: InvokeResponse): void {
    // A last will is published when its connection is gone: it may change keys, but cannot be notified.
    if (!connection.open) this.#engine.watchers.drop(connection)
    const { work, changes } = response
    this.#report(connection, message, response)
    const globs = this.#engine.globWorkOf(changes)
    if (work !== undefined || globs > 0) connection.account?.worked((work ?? 0) + globs)
    this.#answer(connection, message, response)
    this.changed(changes)
  }

  #report(connection: Client, message: Incoming, { reply, repeated }: InvokeResponse): void {
    this.counters.requests++
    if (reply === undefined || reply.type === 'error') {
      this.counters.errors++
      if (reply?.code === 'quota-exceeded') this.#options.exceeded?.(connection, message)
    }
    if (!this.#options.requests$?.observed) return
    this.#options.requests$.next({
      clientId: connection.clientId,
      payload: message.payload,
      outcome: reply?.type ?? 'rejected',
      repeated: repeated === true,
    })
  }

  #answer(connection: Client, message: Incoming, response: InvokeResponse): void {
    const { responseTopic, correlationData } = message
    if (responseTopic === undefined || correlationData === undefined) return
    const content: Content = {
      payload: response.payload,
      correlationData,
      contentType: CONTENT_TYPE,
      userProperties: response.userProperties,
      commonProperties: response.commonProperties,
    }
    if (this.#options.answer) this.#options.answer(connection, message, content)
    else if (connection.subscribes(responseTopic)) connection.deliver(responseTopic, content)
    // No other client is to have it if the client itself does not want it.
    else if (!isResponseTopic(responseTopic)) {
      // With the answer, which may have to wait, all that was read with the request would be kept.
      this.#options.publish({ topic: responseTopic, ...content, correlationData: new Uint8Array(correlationData) })
    }
  }
}

/** What a request takes while it waits, besides its payload, bytes. */
const OVERHEAD = 200

/** What requests are answered with. */
interface RequestHost {
  readonly service: RequestProcessor<Client>
  readonly clock: Clock
  /** What reads wait for when nodes share the log. */
  readonly reads: Sharing['reads'] | undefined
  respond(connection: Client, message: Incoming, response: InvokeResponse): void
}

/**
 * Whether a read has to see what was committed at other nodes. Who begins to watch may come from another one: what it was
 * told there must not be undone here.
 */
function isConfirmed(request: ParsedRequest, reads: Sharing['reads'] | undefined): boolean {
  if (reads === undefined || request.type !== 'read') return false
  const { verb } = request.command
  return reads === 'linearizable' || verb === 'KEYNOTIFY' || verb === 'GLOBNOTIFY'
}

/** A request of a connection. */
class RequestJob implements Job {
  readonly owner: Client
  readonly bytes: number
  readonly command: Write | undefined
  readonly isConfirmed: boolean
  readonly #message: Incoming
  readonly #request: ParsedRequest
  readonly #host: RequestHost

  constructor(host: RequestHost, owner: Client, message: Incoming) {
    const request = host.service.parse(message, owner)
    this.owner = owner
    this.bytes = message.payload.length + OVERHEAD
    this.command = request.type === 'write' ? request : undefined
    this.isConfirmed = isConfirmed(request, host.reads)
    this.#message = message
    this.#request = request
    this.#host = host
  }

  read(): void {
    const { service, clock } = this.#host
    if (this.#request.type === 'rejected') this.#respond(this.#request.response)
    if (this.#request.type === 'read') this.#respond(service.ask(this.#request, this.owner, clock.now()))
  }

  applied(result: Applied): void {
    if (result.type === 'answered') this.#respond(this.#host.service.respond(result.answer))
  }

  failed(failure: LogFailure): void {
    // No answer says that its outcome is unknown.
    if (failure.problem !== 'unknown') this.#respond(this.#host.service.failed(failure))
  }

  #respond(response: InvokeResponse): void {
    this.#host.respond(this.owner, this.#message, response)
  }
}

const COMMON = { [PROPERTY.protocolVersion]: PROTOCOL_VERSION, [PROPERTY.highPriority]: '' }

/** Tells watchers what changed. */
export class WatchNotifier {
  readonly #dialect: Dialect
  readonly #onlySubscribed: boolean
  readonly #prefixes = new WeakMap<Client, string>()

  /** @param onlySubscribed - tells only those who subscribed to the topic, too */
  constructor(dialect: Dialect, onlySubscribed: boolean) {
    this.#dialect = dialect
    this.#onlySubscribed = onlySubscribed
  }

  /** Returns how many were told. */
  notify(change: Change, watchers: Iterable<Client>): number {
    let told = 0
    let content: Content | undefined
    let key: string | undefined
    for (const watcher of watchers) {
      key ??= toHex(change.key)
      const topic = this.#prefixOf(watcher) + key
      // A long key has a topic that MQTT cannot carry.
      if (!isTopicName(topic) || (this.#onlySubscribed && !watcher.subscribes(topic))) continue
      content ??= this.#contentOf(change)
      watcher.deliver(topic, content)
      told++
    }
    return told
  }

  #prefixOf(watcher: Client): string {
    const known = this.#prefixes.get(watcher)
    if (known !== undefined) return known
    const prefix = notificationPrefix(watcher.clientId)
    this.#prefixes.set(watcher, prefix)
    return prefix
  }

  #contentOf({ notification, version, isExpired }: Change): Content {
    const reason: GoneReason = isExpired ? 'expired' : 'deleted'
    return {
      payload: encodeNotification(notification, this.#dialect),
      contentType: CONTENT_TYPE,
      userProperties: {
        [PROPERTY.timestamp]: String(version),
        ...(notification.op === 'delete' && { [PROPERTY.reason]: reason }),
      },
      commonProperties: COMMON,
    }
  }
}
