import type { Subscription } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { ClosedError, reason } from '../../core/util/errors.js'
import type { OpenedStorage, Storage } from '../storage/storage.js'
import type { CheckedOptions } from './options.js'
import type { AccessControl } from './security.js'
import { type LogEvent, STORAGE_KEPT, type StoreEvents } from './store-events.js'
import { StoreInstance } from './store-instance.js'
import type { RestartOptions } from './store-server.js'

export interface InstanceDependencies {
  readonly options: CheckedOptions
  readonly events: StoreEvents
  readonly storage: Storage
  readonly access: AccessControl
}

/** Runs one instance of a store after another on the same storage. */
export class InstanceManager {
  options: CheckedOptions
  readonly #dependencies: InstanceDependencies
  readonly #freezeTimer: FreezeTimer
  #opened: OpenedStorage
  #instance: StoreInstance
  /** Whether the instance listens. `false` during a restart, and after a failed one. */
  #isListening = true
  #lastRestart: Promise<void> = Promise.resolve()

  private constructor(dependencies: InstanceDependencies, opened: OpenedStorage, instance: StoreInstance) {
    this.options = { ...dependencies.options, port: instance.broker.port, wsPort: instance.broker.wsPort }
    this.#dependencies = dependencies
    this.#opened = opened
    this.#instance = instance
    this.#freezeTimer = new FreezeTimer(this.options.clock, () => this.#instance)
  }

  static async start(dependencies: InstanceDependencies): Promise<InstanceManager> {
    const opened = await dependencies.storage.open()
    return new InstanceManager(dependencies, opened, await startInstance(dependencies, opened))
  }

  get instance(): StoreInstance {
    return this.#instance
  }

  get opened(): OpenedStorage {
    return this.#opened
  }

  /** Resolves when no restart is in progress. Never rejects. */
  get settled(): Promise<void> {
    return this.#lastRestart
  }

  /** The end of the freeze, in ms since the Unix epoch. */
  get frozenUntil(): number | undefined {
    return this.#freezeTimer.until
  }

  get isAccepting(): boolean {
    return this.#isListening && this.frozenUntil === undefined && this.#instance.unavailableReason === undefined
  }

  /** Freezes the instance for `ms`. 0 resumes it. Throws {@link ClosedError} while it does not listen. */
  freeze(ms: number): void {
    if (!this.#isListening) throw new ClosedError('The store is restarting; try again when it listens')
    this.#freezeTimer.freeze(ms)
  }

  /** Stops the instance and starts another one. Waits for any restart in progress first. */
  restart(keys: RestartOptions['keys']): Promise<void> {
    const restarted = this.#lastRestart.then(() => this.#restart(keys))
    // The caller gets the error, and the next restart must not fail because of it.
    this.#lastRestart = restarted.catch(() => undefined)
    return restarted
  }

  async close(): Promise<void> {
    this.#freezeTimer.reset()
    await this.#instance.close()
    await this.#dependencies.storage.release()
  }

  async #restart(keys: RestartOptions['keys']): Promise<void> {
    const { events, storage } = this.#dependencies
    this.#freezeTimer.reset()
    this.#isListening = false
    const { drift } = this.#instance.server
    await this.#instance.kill()
    this.#opened = await (keys === 'lost' ? storage.openEmpty() : storage.open())
    if (events.storage$.value.state !== 'kept') events.storage$.next(STORAGE_KEPT)
    if (keys === 'lost' && drift > 0) events.drift$.next(0)
    this.#instance = await startInstance({ ...this.#dependencies, options: this.options }, this.#opened)
    this.#isListening = true
  }
}

/** Starts an instance. Closes the log if the instance cannot be started. */
async function startInstance(
  { options, access, events }: InstanceDependencies,
  opened: OpenedStorage,
): Promise<StoreInstance> {
  try {
    return await StoreInstance.start({ options, opened, access, events })
  } catch (error) {
    await opened.log.close()
    throw error
  }
}

class FreezeTimer {
  readonly #clock: Clock
  readonly #instance: () => StoreInstance
  #until: number | undefined
  #cancel: () => void = () => undefined

  constructor(clock: Clock, instance: () => StoreInstance) {
    this.#clock = clock
    this.#instance = instance
  }

  get until(): number | undefined {
    return this.#until
  }

  freeze(ms: number): void {
    this.#cancel()
    if (ms === 0) {
      this.#thaw()
      return
    }
    this.#until = this.#clock.now() + ms
    this.#instance().freeze()
    this.#cancel = this.#clock.schedule(ms, () => this.#thaw())
  }

  reset(): void {
    this.#cancel()
    this.#until = undefined
  }

  #thaw(): void {
    this.#until = undefined
    this.#instance().thaw()
  }
}

const RESTART_RETRY_MS = 5_000

/**
 * Reacts to the state of a replicated log: disconnects or accepts clients, reopens the node when it has fallen behind,
 * and repeats a failed restart.
 */
export class NodeMonitor {
  readonly #events: StoreEvents
  readonly #instances: InstanceManager
  readonly #subscription: Subscription
  #lastRestart: Promise<void> | undefined
  #cancel: () => void = () => undefined

  constructor(events: StoreEvents, instances: InstanceManager) {
    this.#events = events
    this.#instances = instances
    this.#subscription = events.log$.subscribe(event => {
      if (event !== undefined) this.#onLogEvent(event)
    })
    this.#subscription.add(events.concern$.subscribe(concern => this.#onConcern(concern)))
  }

  stop(): void {
    this.#cancel()
    this.#subscription.unsubscribe()
  }

  /** Restarts the node. Rejects if that fails, and then tries again until the node runs. */
  async restart(): Promise<void> {
    this.#cancel()
    const restarted = this.#instances.restart('kept')
    this.#lastRestart = restarted
    try {
      await restarted
    } catch (error) {
      // A restart that is already waiting makes a retry unnecessary.
      if (this.#lastRestart === restarted && !this.#subscription.closed) this.#retry(error)
      throw error
    }
  }

  #retry(error: unknown): void {
    this.#cancel()
    this.#onFailure(error)
    this.#cancel = this.#instances.options.clock.schedule(RESTART_RETRY_MS, () => this.#reopen())
  }

  #onLogEvent(event: LogEvent): void {
    const { storage$ } = this.#events
    if (event.type === 'outrun') this.#reopen()
    else if (event.type === 'failed') this.#onFailure(event.error)
    else if (event.availability === 'kept') {
      this.#instances.instance.unavailableReason = undefined
      storage$.next(STORAGE_KEPT)
    } else {
      if (event.availability === 'away')
        this.#instances.instance.unavailableReason = 'this node cannot reach the log of the store'
      if (storage$.value.state !== 'waiting') storage$.next({ state: 'waiting', error: event.cause })
    }
  }

  /** Reports a concern unless the storage has a worse status. */
  #onConcern(concern: unknown): void {
    const { storage$ } = this.#events
    const { state, error } = storage$.value
    if (state !== 'kept' && state !== 'degraded') return
    if (concern === undefined && state === 'degraded') storage$.next(STORAGE_KEPT)
    if (concern !== undefined && (state === 'kept' || reason(concern) !== reason(error)))
      storage$.next({ state: 'degraded', error: concern })
  }

  #reopen(): void {
    this.#instances.instance.unavailableReason = 'this node is catching up with the log'
    // The error is in the storage status.
    this.restart().catch(() => undefined)
  }

  #onFailure(error: unknown): void {
    this.#instances.instance.unavailableReason = 'this node has stopped'
    this.#events.storage$.next({ state: 'broken', error })
  }
}
