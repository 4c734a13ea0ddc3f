import { Observable, type Subscription } from 'rxjs'
import type { Content, Incoming } from '../../../src/core/mqtt5/packets.js'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import type { Clock } from '../../../src/core/util/clock.js'
import type { Engine } from '../../../src/server/engine/engine.js'
import { type LogEntry, parseWriteCommand } from '../../../src/server/engine/entry.js'
import type { Availability } from '../../../src/server/log/cluster/log-health-monitor.js'
import { type OpenedNode, openNode } from '../../../src/server/log/cluster/open.js'
import type { LogEvents } from '../../../src/server/log/cluster/settings.js'
import { StoreService } from '../../../src/server/service/store-service.js'
import { resp3 } from '../../support/words.js'
import type { Peer } from './cluster-clients.js'
import { type ClusterHistory, lastVersion } from './cluster-history.js'
import type { StreamFault } from './cluster-schedule.js'
import { type SimCluster, SimStream } from './cluster-stream.js'

export interface ClusterSetting {
  readonly cluster: SimCluster
  readonly history: ClusterHistory
  readonly snapshots: number
  readonly isFaulty: boolean
  newEpochId(): string
  answered(peer: Client, message: Incoming, content: Content): void
}

/** The stall timeout in milliseconds. It is shorter than the shipped timeout, because schedules are short. */
const STALL_TIMEOUT_MS = 1_500
const SILENCE_MS = 3_000
const RETRY_MS = 200

/** A node of a store: the shipped log, commit loop, server and engine on virtual time. */
export class ClusterNode implements LogEvents {
  readonly name: string
  readonly faults = new Set<StreamFault>()
  readonly peers = new Set<Peer>()
  failure: unknown
  opened: OpenedNode<Client> | undefined
  offset = 0
  erred = false
  readonly #errors = { made: false }
  readonly #index: number
  readonly #setting: ClusterSetting
  #server: StoreService | undefined
  #stream: SimStream | undefined
  #opening: Subscription | undefined
  /** The number of the current process, which increases when the node is killed. */
  #process = 0
  #isAlive = false
  #availability: Availability = 'kept'

  constructor(index: number, setting: ClusterSetting) {
    this.#index = index
    this.name = `node${index}`
    this.#setting = setting
  }

  get accepts(): boolean {
    return this.opened !== undefined && this.#availability !== 'away'
  }

  start(): void {
    if (this.#isAlive) return
    this.#isAlive = true
    this.#open()
  }

  kill(): void {
    this.#isAlive = false
    this.#process++
    this.#close()
  }

  break(): void {
    this.#stream?.break()
  }

  handle(peer: Peer, message: Incoming): void {
    if (this.accepts && peer.open) this.#server?.handleRequest(peer, message)
  }

  get version(): ReturnType<typeof lastVersion> {
    return this.opened && lastVersion<Client>(this.opened.engine, NO_CLIENT)
  }

  leave(peer: Peer): void {
    if (!peer.open) return
    for (const watch of peer.watches.values()) watch.until = this.version
    peer.open = false
    this.peers.delete(peer)
    this.#server?.removeConnection(peer)
  }

  onAvailability(availability: Availability): void {
    this.#availability = availability
    if (availability === 'away') this.#disconnectClients()
  }

  onOutrun(): void {
    this.#close()
    this.#later(() => this.#open())
  }

  onFailed(error: unknown): void {
    this.failure = error
    this.#close()
  }

  onError(): void {}

  #open(): void {
    const { cluster, history, snapshots, newEpochId } = this.#setting
    const process = this.#process
    const stream = new SimStream(cluster, this.faults)
    this.#stream = stream
    const follow = stream.follow.bind(stream)
    stream.follow = after => this.#compared(follow(after), stream)
    this.#availability = 'kept'
    this.#opening = openNode<Client>(stream, {
      limits: {},
      settings: { nodeId: this.name, stallTimeout: STALL_TIMEOUT_MS, snapshots: { messages: snapshots } },
      clock: this.#clock(process),
      random: cluster.random.next,
      newEpochId,
      countClients: () => this.peers.size,
      events: this,
      silenceTimeoutMs: SILENCE_MS,
    }).subscribe({
      next: opened => this.#serve(opened, process),
      error: error => {
        const code = error instanceof Error && 'code' in error ? error.code : undefined
        if (code !== 'timeout' && code !== 'connection-lost')
          history.violations.push(`${this.name} could not open: ${String(error)}`)
        this.#later(() => this.#open())
      },
    })
  }

  /** Checks the node after each message that it applied. */
  #compared<T>(source: Observable<T>, stream: SimStream): Observable<T> {
    return new Observable(subscriber =>
      source.subscribe({
        next: message => {
          subscriber.next(message)
          if (this.#stream === stream) this.#compare()
        },
        error: error => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    )
  }

  #compare(): void {
    const { history, isFaulty } = this.#setting
    if (this.opened === undefined) return
    const difference = history.difference(this.opened.judge, this.opened.engine)
    if (difference === undefined) return
    if (isFaulty) this.erred = true
    else history.violations.push(`${this.name} ${difference}`)
  }

  #serve(opened: OpenedNode<Client>, process: number): void {
    if (process !== this.#process) return
    const { engine, log } = opened
    const { history } = this.#setting
    const clock = this.#clock(process)
    this.opened = opened
    if (this.#setting.isFaulty && this.#index === 0) errOnce(engine, this.#errors)
    this.#server = new StoreService({
      engine,
      log,
      dialect: 'field',
      notifications: 'registered',
      clock: { ...clock, now: () => log.now },
      afterIo: task => void clock.schedule(0, task),
      sendResponse: this.#setting.answered,
      publish: () => undefined,
      onDrift: () => undefined,
      onLogHealth: () => undefined,
      onError: error => {
        throw error
      },
    })
    this.#server.report(undefined)
    this.#compare()
    // If the remaining shared state is equal now, it stays equal from here on.
    if (!history.hasEqualSharedState(opened.judge))
      history.violations.push(`${this.name} starts with other shared state than the other nodes`)
  }

  #close(): void {
    this.#disconnectClients()
    // The state is discarded, unless the node stopped because of the error.
    this.erred &&= this.failure !== undefined
    this.#server?.stop()
    this.#opening?.unsubscribe()
    this.opened?.log.stop()
    this.#server = undefined
    this.opened = undefined
  }

  #disconnectClients(): void {
    for (const peer of Array.from(this.peers)) this.leave(peer)
  }

  #later(task: () => void): void {
    const process = this.#process
    this.#setting.cluster.time.after(RETRY_MS, () => {
      if (process === this.#process) task()
    })
  }

  /** Returns the clock of one process of a node. After a kill, this clock runs none of the process's code. */
  #clock(process: number): Clock {
    const clock = this.#setting.cluster.time.clock()
    return {
      now: () => clock.now() + this.offset,
      monotonic: clock.monotonic,
      schedule: (delay, task) =>
        clock.schedule(delay, () => {
          if (process === this.#process) task()
        }),
    }
  }
}

const NO_CLIENT: Client = { clientId: 'nobody', open: false, subscribes: () => false, deliver: () => undefined }

/** Makes an engine behave differently from the others, once in all runs of this engine. */
function errOnce(engine: Engine<Client>, errors: { made: boolean }): void {
  const right = engine.apply.bind(engine)
  const payload = resp3(['SET', 'key0', 'wrong'])
  const command = parseWriteCommand(payload)
  engine.apply = (entry: LogEntry) => {
    const [first, ...rest] = entry.commands
    if (errors.made || first?.type !== 'write' || command === undefined) return right(entry)
    errors.made = true
    return right({ ...entry, commands: [{ ...first, payload, command }, ...rest] })
  }
}
