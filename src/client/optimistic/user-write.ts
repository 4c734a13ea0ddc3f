import type { Observer } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { encodeFor } from '../keys/codec.js'
import type { KeySource } from '../keys/source.js'
import type { Position, StoreValue } from './confirmed-state.js'
import type { LateWriteInfo, OptimisticResult } from './state.js'
import type { StoredWrite } from './write-storage.js'

/** The value or version of the key that the user saw. */
export type Seen = Pick<StoreValue, 'bytes' | 'version'>

export class UserWrite<T> {
  readonly id: string
  readonly value: T
  readonly encoded: Uint8Array
  /** Bytes to send, or last sent; with a merge, the bytes of its result. */
  bytes: Uint8Array
  /** Time of the call: wall time and monotonic time, ms. */
  readonly writtenAt: number
  readonly #writtenAtMonotonic: number
  readonly isRestored: boolean
  /** The value that a condition compares with; `undefined` if none was known. */
  seen: Seen | undefined
  /** For a merge: the value that the user changed; `undefined` for none. */
  base: Uint8Array | undefined
  /** Whether the write found no connection, or lost the connection before it was sent. */
  isLate = false
  isApproved = false
  /** Whether the caller has unsubscribed from the result. */
  isWithdrawn = false
  isStored = false
  mergeAttempts = 0
  sentPosition: Position | undefined
  /** Age of the write when it was sent, ms. */
  sentAfter: number | undefined
  observer: Observer<OptimisticResult<T>> | undefined

  constructor(
    value: T,
    parts: Pick<UserWrite<T>, 'id' | 'encoded' | 'seen' | 'base'>,
    clock: Clock,
    stored?: StoredWrite,
  ) {
    this.value = value
    this.id = parts.id
    this.encoded = parts.encoded
    this.bytes = parts.encoded
    this.seen = parts.seen
    this.base = parts.base
    this.writtenAt = stored?.at ?? clock.now()
    this.#writtenAtMonotonic = clock.monotonic() - (clock.now() - this.writtenAt)
    this.isRestored = stored !== undefined
    this.isLate = this.isRestored
    this.isStored = this.isRestored
  }

  /**
   * Returns the age in ms by the clock that shows more: the monotonic clock may stop during sleep, and the wall clock
   * may be set. For a restored write, a wall clock before its time means infinite age.
   */
  age(clock: Clock): number {
    const wall = clock.now() - this.writtenAt
    return wall < 0 && this.isRestored
      ? Number.POSITIVE_INFINITY
      : Math.max(wall, clock.monotonic() - this.#writtenAtMonotonic)
  }

  get lateness(): LateWriteInfo | undefined {
    return this.isLate ? { since: this.writtenAt, sentAfter: this.sentAfter, restored: this.isRestored } : undefined
  }

  settle(key: string, outcome: OptimisticResult<T>['outcome'], value: T, version?: Hlc): void {
    const { observer, isLate } = this
    this.observer = undefined
    observer?.next({
      key,
      outcome,
      value,
      version,
      sentLate: isLate && this.sentAfter !== undefined,
      age: this.sentAfter ?? 0,
    })
    observer?.complete()
  }

  fail(error: unknown): void {
    const { observer } = this
    this.observer = undefined
    observer?.error(error)
  }
}

/**
 * Returns the value that the user saw and the base of the change. A write that has been sent becomes the base of the
 * next one, whatever its outcome; a queued write is replaced, and its base is kept.
 */
export function writeBase<T>(
  waiting: UserWrite<T> | undefined,
  shown: UserWrite<T> | undefined,
  known: StoreValue | undefined,
): Pick<UserWrite<T>, 'seen' | 'base'> {
  // While a write is shown, the user last saw the value that the write replaces.
  const seen = shown ? shown.seen : known
  if (waiting) return { seen, base: waiting.base }
  return { seen, base: shown ? shown.encoded : known?.bytes }
}

/** Creates a write. Throws {@link ArgumentError} if the codec rejects the value. */
export function createWrite<T>(
  { key, codec, host }: KeySource<T>,
  value: T,
  base: Pick<UserWrite<T>, 'seen' | 'base'>,
): UserWrite<T> {
  const encoded = encodeFor(key.text, codec, value)
  return new UserWrite(value, { id: toHex(randomBytes(8)), encoded, ...base }, host.registry.clock)
}
