import type { Subject } from 'rxjs'
import type { Content, Incoming } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import type { Command } from '../../core/protocol/commands.js'
import { CONTENT_TYPE } from '../../core/protocol/properties.js'
import type { Reply } from '../../core/protocol/replies.js'
import type { Applier, Change, Engine, Restoration } from '../engine/engine.js'
import { commandOf, type Entry, type EntryCommand, isWrite, type Restored } from '../engine/entry.js'
import type { Log, LogFailure, Sharing } from '../log/log.js'
import { isResponseTopic } from './access.js'
import { DriftWatch } from './drift-watch.js'
import { Expiry } from './expiry.js'
import { LoadJob, type RequestHost, RequestJob } from './jobs.js'
import { Notifier } from './notifier.js'
import { Sequencer, type SequencerHost } from './sequencer.js'
import type { RequestReport, StateStoreServerOptions } from './server-options.js'
import type { InvokeResponse, StateStoreService } from './service.js'
import { TopicRules } from './topic-rules.js'

export type { RequestReport, StateStoreServerOptions } from './server-options.js'

/** Counts since the start. */
export interface Counters {
  requests: number
  errors: number
  notifications: number
}

/** What a request takes while it waits, besides its payload, bytes. */
const OVERHEAD = 200

/**
 * The state store at a broker: answers requests, tells watchers, deletes what expires. It knows connections and
 * messages but no broker. What changes records goes through a log, and is answered when it is there.
 */
export class StateStoreServer implements RequestHost<Incoming>, SequencerHost {
  readonly counters: Counters = { requests: 0, errors: 0, notifications: 0 }
  readonly service: StateStoreService<Client>
  readonly rules: TopicRules
  readonly afterIo: StateStoreServerOptions['afterIo']
  readonly #engine: Engine<Client>
  readonly #reads: Sharing['reads'] | undefined
  readonly #options: StateStoreServerOptions
  readonly #notifier: Notifier
  readonly #requests$: Subject<RequestReport>
  readonly #driftWatch: DriftWatch
  readonly #sequencer: Sequencer
  readonly #expiry: Expiry
  #stopped = false
  #problem: LogFailure['problem'] | undefined

  constructor(
    engine: Engine<Client>,
    service: StateStoreService<Client>,
    log: Log,
    requests$: Subject<RequestReport>,
    options: StateStoreServerOptions,
  ) {
    this.#engine = engine
    this.#reads = log.sharing?.reads
    this.service = service
    this.#requests$ = requests$
    this.#options = options
    this.afterIo = options.afterIo
    this.rules = new TopicRules(options.rights, (...what) => options.refused?.(...what))
    this.#driftWatch = new DriftWatch(drift => options.drifted(drift))
    this.#notifier = new Notifier(options.dialect, options.notifications === 'subscribed')
    this.#sequencer = new Sequencer(log, this)
    const tick = (): void => this.#sequencer.tick()
    this.#expiry = new Expiry(options.clock, () => engine.nextDeadline, tick, options.reluctance)
  }

  /** Takes a PUBLISH to the invoke topic that the rules let pass. Returns whether its answer may be waited for. */
  take(connection: Client, message: Incoming): boolean {
    if (this.#stopped || message.responseTopic === undefined || message.correlationData === undefined) return false
    const problem = this.#sequencer.full
    if (problem !== undefined) {
      this.respond(connection, message, this.service.failed({ problem }))
      return false
    }
    const command = commandOf(message.payload)
    const job = new RequestJob(this, connection, message, command)
    const bytes = message.payload.length + OVERHEAD
    if (command !== undefined && isWrite(command) && this.#mayWrite(connection, command, message)) {
      const write = this.service.writeOf(message, command, connection.clientId, this.#options.ownerOf?.(connection))
      return this.#sequencer.write(connection, write, bytes, job)
    }
    if (this.#expiry.due) this.#sequencer.tick(connection)
    this.#sequencer.read(connection, bytes, job, this.#isConfirmed(command))
    return false
  }

  /** Forgets a connection and its registrations. */
  drop(connection: Client): void {
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
    this.#expiry.pause()
  }

  /** Lets expire what is due by now, and goes on. */
  resume(): void {
    this.#expiry.resume()
  }

  /** Nothing is done or answered any more, last wills included. */
  stop(): void {
    this.#stopped = true
    this.pause()
    this.#sequencer.stop()
  }

  now(): number {
    return this.#options.clock.now()
  }

  schedule(delay: number, task: () => void): () => void {
    return this.#options.clock.schedule(delay, task)
  }

  room(): Engine<Client>['room'] {
    return this.#engine.room
  }

  frees(command: EntryCommand): boolean {
    return this.#engine.frees(command)
  }

  apply(entry: Entry, applier: Applier): void {
    this.#engine.apply(entry, applier)
    this.#driftWatch.look(this.#engine.drift(entry.time))
  }

  expired(changes: readonly Change[]): void {
    this.#notify(changes)
  }

  settled(outcome: LogFailure | undefined): void {
    // Of a log that nodes share they hear by itself.
    const failure = this.#reads === undefined ? outcome : undefined
    // A store that is being stopped says nothing of its disk.
    if (failure?.problem === 'closed') return
    const changed = failure?.problem !== this.#problem
    this.#problem = failure?.problem
    if (changed) this.#options.stored(failure)
    this.#expiry.changed(this.#problem)
  }

  faulted(error: unknown): void {
    this.#options.faulted(error)
  }

  /** Sends a response, and tells watchers what changed. */
  respond(connection: Client, message: Incoming, response: InvokeResponse): void {
    // A last will is published when its connection is gone: it may change keys, but cannot be notified.
    if (!connection.open) this.#engine.watchers.drop(connection)
    const { reply, work, repeated = false } = response
    this.#report(connection, message, reply, repeated)
    const globs = this.#engine.globWorkOf(response.changes)
    if (work !== undefined || globs > 0) connection.account?.worked((work ?? 0) + globs)
    this.#answer(connection, message, response)
    this.#notify(response.changes)
  }

  /**
   * Whether a read has to see what was committed at other nodes. Who begins to watch may come from another one: what it was
   * told there must not be undone here.
   */
  #isConfirmed(command: Command | undefined): boolean {
    if (this.#reads === undefined || command === undefined) return false
    return this.#reads === 'linearizable' || command.verb === 'KEYNOTIFY' || command.verb === 'GLOBNOTIFY'
  }

  /** What is refused anyhow need not be kept. */
  #mayWrite(connection: Client, command: Command, message: Incoming): boolean {
    return this.service.refuse(message) === undefined && this.#engine.allows(connection, command)
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
    if (!this.#options.answer && connection.subscribes(responseTopic)) {
      connection.deliver(responseTopic, content)
      return
    }
    if (this.#options.answer) this.#options.answer(connection, message, content)
    // No other client is to have it if the client itself does not want it.
    else if (!isResponseTopic(responseTopic)) {
      // With the answer, which may have to wait, all that was read with the request would be kept.
      this.#options.publish({ topic: responseTopic, ...content, correlationData: new Uint8Array(correlationData) })
    }
  }

  #notify(changes: readonly Change[]): void {
    for (const change of changes) {
      this.counters.notifications += this.#notifier.notify(change, this.#engine.watchersOf(change.key))
    }
  }

  #refused(connection: Client, message: Incoming, reply: Extract<Reply, { type: 'error' }> | undefined): void {
    this.counters.errors++
    if (reply?.code === 'quota-exceeded') this.#options.exceeded?.(connection, message)
  }

  #report(connection: Client, message: Incoming, reply: Reply | undefined, repeated: boolean): void {
    this.counters.requests++
    if (reply === undefined || reply.type === 'error') this.#refused(connection, message, reply)
    if (!this.#requests$.observed) return
    this.#requests$.next({
      clientId: connection.clientId,
      payload: message.payload,
      outcome: reply?.type ?? 'rejected',
      repeated,
    })
  }
}
