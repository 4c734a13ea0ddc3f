import type { Client } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { randomBytes } from '../../core/util/bytes.js'
import { systemClock } from '../../core/util/clock.js'
import { connectionsWithin, warnOfDescriptors } from '../../node/net/descriptors.js'
import { packageVersion } from '../../node/package-files.js'
import type { Authorizer } from '../access/authorizer.js'
import type { Policy } from '../access/policy.js'
import type { Rights } from '../access/rights.js'
import { Broker, type BrokerOptions } from '../broker/broker.js'
import type { Log } from '../log/log.js'
import { StoreClock } from '../service/store-clock.js'
import { StoreService } from '../service/store-service.js'
import type { OpenedStorage } from '../storage/storage.js'
import { volatileRule } from '../storage/storage-options.js'
import { StoreBrokerHandler } from './broker-handler.js'
import type { CheckedOptions } from './options.js'
import { brokerQuotas, keyQuotas, QUOTAS } from './quotas.js'
import { RejectionAudit } from './rejection-audit.js'
import { type AccessControl, rightsOf } from './security.js'
import { type StoreEvents, storageStatusOf } from './store-events.js'
import type { ConnectedClient } from './store-server.js'

/**
 * The limit in ms on the random delay with which nodes expire keys. The delay ensures that usually one node expires a
 * key.
 */
const MAX_EXPIRY_DELAY_MS = 25

const sysTopicsOf = ({ sysInterval: intervalMs }: CheckedOptions): BrokerOptions['sysTopics'] =>
  intervalMs === 0
    ? undefined
    : {
        intervalMs,
        version: `rx-statestore version ${packageVersion()}`,
        heapBytes: () => process.memoryUsage().heapUsed,
      }

export interface StoreInstanceDependencies {
  readonly options: CheckedOptions
  readonly opened: OpenedStorage
  readonly access: AccessControl
  readonly events: StoreEvents
}

/** One run of the broker and the store. Its keys may exist before and after the run. */
export class StoreInstance {
  readonly startedAt: number
  readonly broker: Broker
  readonly server: StoreService
  readonly #engine: OpenedStorage['engine']
  readonly #handler: StoreBrokerHandler
  readonly #log: Log

  private constructor({ engine, log }: OpenedStorage, handler: StoreBrokerHandler, broker: Broker) {
    this.startedAt = handler.now()
    this.broker = broker
    this.server = handler.server
    this.#engine = engine
    this.#handler = handler
    this.#log = log
  }

  static async start({ options, opened, access, events }: StoreInstanceDependencies): Promise<StoreInstance> {
    const { engine, log, failure, clock: storeClock } = opened
    const { dialect, notifications, clock } = options
    const rejections = new RejectionAudit(access)
    const server = new StoreService({
      engine,
      log,
      requests$: events.requests$,
      isVolatile: volatileRule(options),
      dialect,
      notifications,
      clock: storeClock,
      expiryDelayMs: log.sharing && (() => (MAX_EXPIRY_DELAY_MS * (randomBytes(1)[0] ?? 0)) / 256),
      rights: rightsOf(access),
      ownerOf: keyQuotas(options),
      onTopicRejected: (connection, action, target) => rejections.recordForbidden(connection, action, target),
      onQuotaExceeded: (connection, { payload }) => rejections.recordRejectedRequest(connection, payload),
      publish: message => broker.publish(message),
      onDrift: drift => events.drift$.next(drift),
      onLogHealth: failure => events.storage$.next(storageStatusOf(failure)),
      onError: error => events.faults$.next({ clientId: '', error }),
    })
    const isNode = log.sharing !== undefined
    const storeTime = (): number => storeClock.now()
    const handler = new StoreBrokerHandler({ server, engine, clock, storeTime, events, access, rejections, isNode })
    // Connections use the machine's clock, independently of the clock for keys.
    const machineClock = new StoreClock(systemClock)
    const { maxBufferedBytes: memoryBudget, maxConnectionsPerAddress } = options
    // The default means as many as possible, so fewer are no surprise.
    const isDefault = options.maxConnections === QUOTAS.maxConnections.default
    const maxConnections = connectionsWithin(options.maxConnections, isDefault ? () => undefined : warnOfDescriptors)
    const connections = { maxConnections, maxConnectionsPerAddress }
    const quotas = brokerQuotas(options)
    const limits = {
      maximumPacketSize: options.maxPacketSize,
      maxKeepAliveSeconds: Math.ceil(options.maxKeepAlive / 1_000),
      memoryBudget,
    }
    const sysTopics = sysTopicsOf(options)
    const brokerOptions = { ...options, ...limits, connections, quotas, sysTopics, clock: machineClock }
    const broker: Broker = await Broker.start(brokerOptions, handler)
    // Resuming the server expires keys from previous runs.
    server.resume()
    if (failure !== undefined) server.report(failure)
    return new StoreInstance(opened, handler, broker)
  }

  /** The reason why clients are rejected. Setting a reason also disconnects all clients. */
  get unavailableReason(): string | undefined {
    return this.#handler.unavailableReason
  }

  set unavailableReason(reason: string | undefined) {
    this.#handler.unavailableReason = reason
    if (reason === undefined) return
    for (const connection of Array.from(this.broker.connections)) connection.disconnect(REASON.serverBusy, reason)
  }

  get clients(): readonly ConnectedClient[] {
    return Array.from(this.broker.connections, connection => ({
      clientId: connection.clientId,
      since: this.#handler.connectedSince(connection) ?? this.startedAt,
      watches: this.#engine.watchers.countOf(connection),
    }))
  }

  connectionsOf(clientId: string): readonly (Client & { cut(): void })[] {
    return Array.from(this.broker.connections).filter(connection => connection.clientId === clientId)
  }

  freeze(): void {
    this.server.pause()
    this.broker.freezer.freeze()
  }

  thaw(): void {
    this.server.resume()
    this.broker.freezer.thaw()
  }

  /**
   * Applies a new policy. Disconnects clients that watch globs and may read other keys than before. These clients may
   * reconnect.
   */
  setPolicy(authorizer: Authorizer, policy: Policy): void {
    const rightsBefore = new Map<object, Rights | undefined>()
    for (const connection of this.broker.connections)
      if (this.#engine.watchers.globs.countOf(connection) > 0)
        rightsBefore.set(connection, authorizer.rightsOf(connection))
    authorizer.setPolicy(policy)
    this.broker.revalidateSessions()
    for (const connection of Array.from(this.broker.connections)) {
      const before = rightsBefore.get(connection)
      if (before && authorizer.rightsOf(connection)?.canReadSamePatterns(before) === false)
        connection.disconnect(REASON.administrativeAction, 'the policy has changed; watched globs may show other keys')
    }
  }

  async close(): Promise<void> {
    this.server.pause()
    // Closing the log first answers the requests that are in flight to other nodes before their clients are
    // disconnected.
    if (this.#log.sharing) await this.#log.close()
    await this.broker.close()
    await this.#log.close()
  }

  /** Simulates a killed process. Closes connections without DISCONNECT and drops the work in flight. */
  async kill(): Promise<void> {
    this.server.stop()
    await this.broker.kill()
    await this.#log.close()
  }
}
