import { toBinaryString } from '../bytes.js'
import { type Deadline, DeadlineQueue } from '../deadlines.js'
import { HlcError } from '../errors.js'
import { Hlc } from '../hlc/hlc.js'
import { advance, laterTime } from '../hlc/hlc-clock.js'
import { CommandError, type KeynotifyCommand } from '../protocol/commands.js'
import type { Notification } from '../protocol/notifications.js'
import type { Reply } from '../protocol/replies.js'
import type { KnownServiceErrorCode } from '../protocol/service-errors.js'
import { apply, type Outcome, type RecordCommand, type StoredRecord } from './apply.js'
import { KeyOrder } from './key-order.js'
import { type RawRequest, readRequest, type StoreRequest } from './request.js'
import { scanPage } from './scan.js'
import { Watchers } from './watchers.js'

/** A change of a key, to be told to its watchers. */
export interface Change {
  readonly key: Uint8Array
  readonly notification: Notification
  readonly version: Hlc
}

/** The answer to a request, and what changed: by the request, and by expiry that was due before it. */
export interface Answer {
  readonly reply: Reply
  /** `__ts` of the response. */
  readonly version: Hlc | undefined
  readonly changes: readonly Change[]
}

export interface EngineOptions {
  /** Most keys the store holds; a SET of one more answers `the quota has been exceeded`. Default 1,000,000. */
  readonly maxKeys?: number
}

interface Slot {
  readonly key: Uint8Array
  /** Its place in the order in which keys came. */
  readonly number: number
  readonly record: StoredRecord
  readonly deadline: Deadline<string> | undefined
}

const NODE_ID = 'StateStore'
/** A longer key cannot be watched, bytes: its notification topic would be longer than MQTT allows. */
const LONGEST_WATCHED_KEY = 30_000

/**
 * The state store without network, timers or clock: every call brings the time along. `C` stands for a connection.
 *
 * @example
 * ```ts
 * const engine = new Engine<string>()
 * const { reply, version } = engine.handle({ payload, timestamp: '1696374425000:0:CLIENT' }, 'client-1', Date.now())
 * ```
 */
export class Engine<C> {
  readonly watchers: Watchers<C> = new Watchers<C>()
  readonly #maxKeys: number
  readonly #slots = new Map<string, Slot>()
  readonly #order = new KeyOrder()
  readonly #expiries = new DeadlineQueue<string>()
  #last = new Hlc(0, 0, NODE_ID)
  /** Time of the first request, ms: tells this store from the one that had its place before. */
  #born: number | undefined

  constructor(options: EngineOptions = {}) {
    this.#maxKeys = options.maxKeys ?? 1_000_000
  }

  /** Number of keys. */
  get size(): number {
    return this.#slots.size
  }

  /** When {@link expire} has something to do next, ms since the Unix epoch. */
  get nextDeadline(): number | undefined {
    return this.#expiries.peek()?.at
  }

  /** What the store holds of a key, for those who operate the store. */
  peek(key: Uint8Array): StoredRecord | undefined {
    return this.#slots.get(toBinaryString(key))?.record
  }

  /** Whoever watches a key. */
  watchersOf(key: Uint8Array): Iterable<C> {
    return this.watchers.of(toBinaryString(key))
  }

  /** Answers a request at store time `now` (ms). Never throws for what a client sent. */
  handle(raw: RawRequest, connection: C, now: number): Answer {
    const expired = this.expire(now)
    this.#born ??= now
    try {
      return this.#answer(readRequest(raw, now), connection, now, expired)
    } catch (error) {
      return { reply: { type: 'error', code: codeOf(error) }, version: undefined, changes: expired }
    }
  }

  /** Deletes what is due at `now` (ms). */
  expire(now: number): Change[] {
    const changes: Change[] = []
    for (let id = this.#expiries.takeDue(now); id !== undefined; id = this.#expiries.takeDue(now)) {
      const slot = this.#slots.get(id)
      if (slot === undefined) continue
      this.#slots.delete(id)
      this.#order.remove(slot.number)
      // Nobody asked for it, so nobody can be refused: an expiry gets a version even if the wall clock was set back.
      this.#last = advance(this.#last, now, NODE_ID, Number.POSITIVE_INFINITY)
      changes.push({ key: slot.key, notification: { op: 'delete' }, version: this.#last })
    }
    return changes
  }

  #answer(request: StoreRequest, connection: C, now: number, expired: Change[]): Answer {
    const { command } = request
    if (command.verb === 'SCAN') {
      return { reply: scanPage(this.#order, String(this.#born), command), version: undefined, changes: expired }
    }
    const id = toBinaryString(command.key)
    if (command.verb === 'KEYNOTIFY') {
      return { reply: this.#keynotify(connection, id, command), version: undefined, changes: expired }
    }
    const outcome = this.#apply(id, command, request, now)
    const { reply, version, change } = outcome
    if (change === undefined) return { reply, version, changes: expired }
    this.#commit(id, command.key, outcome)
    return { reply, version, changes: [...expired, { key: command.key, notification: change, version: this.#last }] }
  }

  #apply(id: string, command: RecordCommand, request: StoreRequest, now: number): Outcome {
    const record = this.#slots.get(id)?.record
    const outcome = apply(record, command, {
      now,
      next: this.#next(command, request, now),
      fencingToken: request.fencingToken,
    })
    if (record === undefined && outcome.record !== undefined && this.#slots.size >= this.#maxKeys) {
      throw new CommandError('quota-exceeded')
    }
    return outcome
  }

  #next(command: RecordCommand, { timestamp }: StoreRequest, now: number): Hlc {
    if (command.verb === 'GET') return this.#last
    return advance(timestamp ? laterTime(this.#last, timestamp) : this.#last, now, NODE_ID)
  }

  #commit(id: string, key: Uint8Array, { record, version }: Outcome): void {
    if (version !== undefined) this.#last = version
    const old = this.#slots.get(id)
    if (old?.deadline) this.#expiries.remove(old.deadline)
    if (record === undefined) {
      this.#slots.delete(id)
      if (old) this.#order.remove(old.number)
      return
    }
    const deadline = record.expiresAt === undefined ? undefined : this.#expiries.add(record.expiresAt, id)
    // The request's bytes are views of a network buffer that may be much larger; a record must not keep it alive.
    const own = { ...record, value: new Uint8Array(record.value) }
    const ownKey = old?.key ?? new Uint8Array(key)
    this.#slots.set(id, { key: ownKey, number: old?.number ?? this.#order.add(ownKey), record: own, deadline })
  }

  #keynotify(connection: C, id: string, { key, stop }: KeynotifyCommand): Reply {
    if (stop) return this.watchers.remove(connection, id) ? { type: 'ok' } : { type: 'count', count: 0 }
    if (key.length > LONGEST_WATCHED_KEY) throw new CommandError('quota-exceeded')
    if (!this.watchers.has(connection, id) && this.watchers.countOf(connection) >= this.#maxKeys) {
      throw new CommandError('quota-exceeded')
    }
    this.watchers.add(connection, id)
    return { type: 'ok' }
  }
}

function codeOf(error: unknown): KnownServiceErrorCode {
  if (error instanceof CommandError) return error.code
  if (error instanceof HlcError) return error.problem === 'drift' ? 'clock-skew' : 'timestamp-malformed'
  throw error
}
