import type { Unsubscribable } from 'rxjs'
import { sameBytes } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import { isPermanentError } from '../../core/util/transient-errors.js'
import type { KeySource } from '../keys/source.js'
import type { ReadResult } from '../requests/commands.js'
import {
  applyObservation,
  type ConfirmedState,
  type Observation,
  type Position,
  UNKNOWN_STATE,
} from './confirmed-state.js'
import type { UserWrite } from './user-write.js'

/** Time within which the watch should confirm an own write, ms. Otherwise the key is read, with backoff. */
const ECHO_TIMEOUT_MS = 1_000
const MAX_ECHO_TIMEOUT_MS = 30_000

interface KeyTrackerListener<T> {
  changed(): void
  /**
   * Called when a write's outcome is known. `error` is the reason why the outcome was unknown before; it is
   * undefined for an applied write.
   */
  resolved(write: UserWrite<T>, outcome: WriteOutcome, error: StateStoreError | undefined): void
}

/** Tracks the known state of a key, and the sent write whose outcome or position is unknown. */
export class KeyTracker<T> {
  readonly #listener: KeyTrackerListener<T>
  readonly #keyReader: KeyReader
  readonly #unresolvedWrite: UnresolvedWrite<T>
  readonly #echo: Timer
  #confirmedState = UNKNOWN_STATE
  /** The unresolved write that the last write replaced. */
  #forgotten: Pick<UnresolvedWrite<T>, 'write' | 'error'> | undefined
  needsRead = false

  constructor(source: KeySource<T>, timeout: number, listener: KeyTrackerListener<T>) {
    this.#listener = listener
    this.#keyReader = new KeyReader(source, timeout, () => this.#startRead())
    const { clock } = source.host.registry
    this.#echo = new Timer(clock)
    this.#unresolvedWrite = new UnresolvedWrite(clock, timeout, () => this.#keyReader.requestRead())
  }

  get confirmed(): ConfirmedState {
    return this.#confirmedState
  }

  get position(): Position {
    const { epoch, changeCount } = this.#confirmedState
    return { epoch, changeCount }
  }

  /** The sent write without a known position. */
  get unresolved(): UserWrite<T> | undefined {
    return this.#unresolvedWrite.write
  }

  /** Why the outcome of the unresolved write is unknown. */
  get error(): StateStoreError | undefined {
    return this.#unresolvedWrite.error
  }

  setConnected(isConnected: boolean): void {
    if (!isConnected) {
      this.observe({ type: 'lost' })
      this.needsRead = false
    }
    this.#keyReader.setConnected(isConnected)
    this.#unresolvedWrite.setConnected(isConnected)
  }

  /** Applies an observation, and returns whether the observation could be ordered. Otherwise a read is sent. */
  observe(observation: Observation): boolean {
    const { state, needsRead } = applyObservation(this.#confirmedState, observation)
    if (state.isAheadOfWatch !== this.#confirmedState.isAheadOfWatch || state.epoch !== this.#confirmedState.epoch)
      this.#scheduleEchoRead(state.isAheadOfWatch, ECHO_TIMEOUT_MS)
    this.#confirmedState = state
    if (needsRead) this.#keyReader.requestRead()
    return !needsRead
  }

  /** Forgets the unresolved write: a newer write was sent, so the outcome of the previous one no longer matters. */
  onSent(): void {
    const { write, error } = this.#unresolvedWrite
    this.#forgotten = write && { write, error }
    this.#unresolvedWrite.end()
  }

  /** Tracks the forgotten write again, because the newer write did not reach a store. */
  onUnsent(isConnected: boolean): void {
    const { write, error } = this.#forgotten ?? {}
    this.#forgotten = undefined
    if (write) this.trackUnresolved(write, error, isConnected)
  }

  trackUnresolved(write: UserWrite<T>, error: StateStoreError | undefined, isConnected: boolean): void {
    this.#unresolvedWrite.begin(write, error, isConnected, this.#confirmedState.epoch)
    this.tryResolve()
  }

  /** Reads the key, because the store contradicts the known value. */
  requestRead(): void {
    this.needsRead = true
    this.#keyReader.requestRead()
  }

  tryResolve(isExpired = false): void {
    const { write, error } = this.#unresolvedWrite
    const outcome = write && error && resolveOutcome(write, this.#confirmedState, isExpired)
    if (outcome) this.#resolve(write, outcome, error)
  }

  stop(): void {
    this.#keyReader.setConnected(false)
    this.#keyReader.stop()
    this.#unresolvedWrite.end()
    this.#forgotten = undefined
    this.#scheduleEchoRead(false, 0)
    this.#confirmedState = UNKNOWN_STATE
    this.needsRead = false
  }

  /**
   * Schedules a read of a value that the watch has not confirmed. The watch may stay silent: after a resync that finds
   * the key missing, it does not emit earlier values, which this view may show.
   */
  #scheduleEchoRead(isDue: boolean, pause: number): void {
    this.#echo.cancel()
    if (isDue)
      this.#echo.set(pause, () => {
        this.#scheduleEchoRead(true, Math.min(2 * pause, MAX_ECHO_TIMEOUT_MS))
        this.#keyReader.requestRead()
      })
  }

  #startRead(): (reading: ReadResult) => void {
    const sentPosition = this.position
    const { isExpired } = this.#unresolvedWrite
    return reading => {
      if (!this.observe({ type: 'read', reading, from: sentPosition })) return
      this.needsRead = false
      const { write, error } = this.#unresolvedWrite
      if (write && !error)
        this.#resolve(write, resolveOutcome(write, this.#confirmedState, true) ?? 'overtaken', undefined)
      else this.tryResolve(isExpired)
      this.#listener.changed()
    }
  }

  #resolve(write: UserWrite<T>, outcome: WriteOutcome, error: StateStoreError | undefined): void {
    this.#unresolvedWrite.end()
    this.#listener.resolved(write, outcome, error)
  }
}

/** MQTT expiry has a resolution of seconds, so a message may outlive its deadline by this much, ms. */
const EXPIRY_ROUNDING_MS = 1_000

export type WriteOutcome = 'written' | 'overtaken' | 'not written'

/**
 * Derives the outcome of a write without a response, or `undefined` while unknown. Pure. The write was applied if the
 * key has since changed to its value, and was overtaken if a later connection shows another change. If the key is
 * unchanged, the write may still be in flight, and only a read that is sent after the write's expiry can decide.
 *
 * @param isExpired - whether the latest observation is such a read
 */
function resolveOutcome(
  { bytes, sentPosition }: Pick<UserWrite<unknown>, 'bytes' | 'sentPosition'>,
  state: ConfirmedState,
  isExpired: boolean,
): WriteOutcome | undefined {
  const { known, changeCount } = state
  const hasChanged = sentPosition !== undefined && changeCount > sentPosition.changeCount
  if ((hasChanged || isExpired) && sameBytes(known?.bytes, bytes)) return 'written'
  if (hasChanged && (isExpired || (known?.epoch ?? 0) > sentPosition.epoch)) return 'overtaken'
  return isExpired ? 'not written' : undefined
}

/** A sent write with unknown outcome or position: its response was lost, or arrived too late to be ordered. */
class UnresolvedWrite<T> {
  readonly #expiry: Timer
  readonly #timeout: number
  readonly #onExpired: () => void
  #userWrite: UserWrite<T> | undefined
  #error: StateStoreError | undefined
  #isExpired = false

  /** @param onExpired - called once the write has expired, when a read can decide */
  constructor(clock: Clock, timeout: number, onExpired: () => void) {
    this.#expiry = new Timer(clock)
    this.#timeout = timeout
    this.#onExpired = onExpired
  }

  get write(): UserWrite<T> | undefined {
    return this.#userWrite
  }

  /** Why the outcome is unknown; `undefined` for an applied write without a known position. */
  get error(): StateStoreError | undefined {
    return this.#error
  }

  get isExpired(): boolean {
    return this.#isExpired
  }

  begin(write: UserWrite<T>, error: StateStoreError | undefined, isConnected: boolean, epoch: number): void {
    this.end()
    this.#userWrite = write
    this.#error = error
    if (error && isConnected)
      this.#startExpiry(write.sentPosition?.epoch === epoch ? EXPIRY_ROUNDING_MS : this.#timeout + EXPIRY_ROUNDING_MS)
  }

  /**
   * Restarts the wait for the expiry. A new connection ends the previous one, so a message left at the broker expires
   * after at most the timeout.
   */
  setConnected(isConnected: boolean): void {
    this.#expiry.cancel()
    this.#isExpired = false
    if (isConnected && this.#error) this.#startExpiry(this.#timeout + EXPIRY_ROUNDING_MS)
  }

  end(): void {
    this.#expiry.cancel()
    this.#userWrite = undefined
    this.#error = undefined
    this.#isExpired = false
  }

  #startExpiry(delay: number): void {
    this.#expiry.set(delay, () => {
      this.#isExpired = true
      this.#onExpired()
    })
  }
}

const READ_RETRY_DELAY_MS = 1_000

/** Reads a key on request, with retries, whenever there is a connection. */
class KeyReader {
  readonly #source: KeySource<unknown>
  readonly #timeout: number
  readonly #startRead: () => (reading: ReadResult) => void
  #isRequested = false
  #isConnected = false
  #request: Unsubscribable | undefined
  readonly #retry: Timer

  constructor(source: KeySource<unknown>, timeout: number, startRead: () => (reading: ReadResult) => void) {
    this.#source = source
    this.#retry = new Timer(source.host.registry.clock)
    this.#timeout = timeout
    this.#startRead = startRead
  }

  /** Requests a read that is sent after this call, and cancels an earlier one. */
  requestRead(): void {
    this.#isRequested = true
    this.#cancel()
    if (this.#isConnected) this.#send()
  }

  setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected
    this.#cancel()
    if (isConnected && this.#isRequested) this.#send()
  }

  stop(): void {
    this.#isRequested = false
    this.#cancel()
  }

  #send(): void {
    const { host, key } = this.#source
    const answered = this.#startRead()
    this.#request = host.store.read(key, this.#timeout).subscribe({
      next: reading => {
        this.#isRequested = false
        answered(reading)
      },
      error: (error: StateStoreError) => this.#onError(error),
    })
  }

  #onError(error: StateStoreError): void {
    const { registry } = this.#source.host
    // A permanent error also ends the watch, and this reader with it.
    if (!isPermanentError(error))
      this.#retry.set(READ_RETRY_DELAY_MS, () => {
        if (this.#isConnected && this.#isRequested) this.#send()
      })
    // Reported last, because the callback may stop the reader.
    registry.report(error)
  }

  #cancel(): void {
    this.#request?.unsubscribe()
    this.#request = undefined
    this.#retry.cancel()
  }
}
