import type { Observer } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { encodeFor } from '../keys/codec.js'
import type { KeySource } from '../keys/source.js'
import type { Known, Place } from './confirmed-state.js'
import type { LateWriteInfo, OptimisticResult } from './state.js'
import type { StoredWrite } from './write-storage.js'

/** What the user saw of a key. */
export type Seen = Pick<Known, 'bytes' | 'version'>

/** One write, from the call until its result. */
export class UserWrite<T> {
  readonly id: string
  readonly value: T
  /** The value, as it was written. */
  readonly own: Uint8Array
  /** What is sent, or was sent last: with a merge its result. */
  bytes: Uint8Array
  /** Wall time and monotonic time of the call, ms. */
  readonly at: number
  readonly #since: number
  readonly restored: boolean
  /** What a condition compares with; `undefined` when nothing was known. */
  seen: Seen | undefined
  /** Of a write that is merged: what the user has made the value from; `undefined` for nothing. */
  base: Uint8Array | undefined
  /** It found no connection, or lost it before it was sent. */
  late = false
  /** The application wants it to be sent late. */
  approved = false
  /** It is in the storage. */
  stored = false
  attempts = 0
  /** What was known when it was sent. */
  from: Place | undefined
  /** How old it was then, ms. */
  sentAfter: number | undefined
  observer: Observer<OptimisticResult<T>> | undefined

  constructor(value: T, parts: Pick<UserWrite<T>, 'id' | 'own' | 'seen' | 'base'>, clock: Clock, stored?: StoredWrite) {
    this.value = value
    this.id = parts.id
    this.own = parts.own
    this.bytes = parts.own
    this.seen = parts.seen
    this.base = parts.base
    this.at = stored?.at ?? clock.now()
    this.#since = clock.monotonic() - (clock.now() - this.at)
    this.restored = stored !== undefined
    this.late = this.restored
    this.stored = this.restored
  }

  /**
   * ms since the call. By both clocks, whichever says more: that of timers may stand still while a machine sleeps, the wall
   * clock may be set. One that was set back before the call makes it as old as can be.
   */
  age(clock: Clock): number {
    const wall = clock.now() - this.at
    return wall < 0 && this.restored ? Number.POSITIVE_INFINITY : Math.max(wall, clock.monotonic() - this.#since)
  }

  get lateness(): LateWriteInfo | undefined {
    return this.late ? { since: this.at, sentAfter: this.sentAfter, restored: this.restored } : undefined
  }

  /** Ends it with its result. */
  settle(key: string, outcome: OptimisticResult<T>['outcome'], value: T, version?: Hlc): void {
    const { observer, late } = this
    this.observer = undefined
    observer?.next({
      key,
      outcome,
      value,
      version,
      sentLate: late && this.sentAfter !== undefined,
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
 * What a user saw, and made the next value from. Of a write that was sent the next one does nothing again, whatever became of
 * it; one that waits it takes the place of.
 */
export function writeBase<T>(
  waiting: UserWrite<T> | undefined,
  shown: UserWrite<T> | undefined,
  known: Known | undefined,
): Pick<UserWrite<T>, 'seen' | 'base'> {
  // While a write is shown, what that one was to replace was seen last.
  const seen = shown ? shown.seen : known
  if (waiting) return { seen, base: waiting.base }
  return { seen, base: shown ? shown.own : known?.bytes }
}

/** A write of a value. Throws {@link ArgumentError} for one that the codec refuses. */
export function writeOf<T>(
  { key, codec, host }: KeySource<T>,
  value: T,
  upon: Pick<UserWrite<T>, 'seen' | 'base'>,
): UserWrite<T> {
  const own = encodeFor(key.text, codec, value)
  return new UserWrite(value, { id: toHex(randomBytes(8)), own, ...upon }, host.registry.clock)
}
