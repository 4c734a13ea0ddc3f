import { fromBinaryString, toBinaryString } from '../bytes.js'
import { HlcError } from '../errors.js'
import { Hlc } from '../hlc/hlc.js'
import { advance, laterTime } from '../hlc/hlc-clock.js'
import { CommandError, type KeynotifyCommand } from '../protocol/commands.js'
import type { Notification } from '../protocol/notifications.js'
import type { Reply } from '../protocol/replies.js'
import type { KnownServiceErrorCode } from '../protocol/service-errors.js'
import { apply, newer, type Outcome, type RecordCommand, type StoredRecord } from './apply.js'
import { Records } from './records.js'
import { type RawRequest, readRequest, type StoreRequest } from './request.js'
import { planRestore, type Restored, type RestorePlan } from './restore.js'
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

/** What {@link Engine.restore} came to. */
export interface Restoration {
  readonly changes: readonly Change[]
  /** Number of keys that were set, and of those of them that kept the version of the dump. */
  readonly loaded: number
  readonly versionsKept: number
  /** Number of keys whose time was over already; they were left alone. */
  readonly expired: number
  readonly deleted: number
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
  readonly #records = new Records()
  #last = new Hlc(0, 0, NODE_ID)
  /** Time of the first request, ms: tells this store from the one that had its place before. */
  #born: number | undefined

  constructor(options: EngineOptions = {}) {
    this.#maxKeys = options.maxKeys ?? 1_000_000
  }

  /** Number of keys. */
  get size(): number {
    return this.#records.size
  }

  /** Rises when a key is made or removed. */
  get keyspace(): number {
    return this.#records.keyspace
  }

  /** When {@link expire} has something to do next, ms since the Unix epoch. */
  get nextDeadline(): number | undefined {
    return this.#records.nextDeadline
  }

  /** All keys and what the store holds of them. */
  records(): Iterable<readonly [key: Uint8Array, record: StoredRecord]> {
    return this.#records.entries()
  }

  /** What the store holds of a key, for those who operate the store. */
  peek(key: Uint8Array): StoredRecord | undefined {
    return this.#records.get(toBinaryString(key))
  }

  /** Whoever watches a key. */
  watchersOf(key: Uint8Array): Iterable<C> {
    return this.watchers.count === 0 ? [] : this.watchers.of(toBinaryString(key))
  }

  /** The keys a connection watches. */
  *watchedBy(connection: C): Iterable<Uint8Array> {
    for (const id of this.watchers.keysOf(connection)) yield fromBinaryString(id)
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
    for (let key = this.#records.removeDue(now); key !== undefined; key = this.#records.removeDue(now)) {
      changes.push({ key, notification: { op: 'delete' }, version: this.#advance(now) })
    }
    return changes
  }

  /**
   * Stores records of a dump at store time `now` (ms), in one step and regardless of fencing tokens, which never get
   * older. With `replace`, keys that are not among them are deleted. What is due is to be deleted by {@link expire}
   * before. Raises {@link CommandError} (`quota-exceeded`), and then changes nothing.
   */
  restore(items: Iterable<Restored>, now: number, replace = false): Restoration {
    const plan = planRestore(items, this.#last, now)
    this.#checkRoom(plan, replace)
    this.#born ??= now
    const changes: Change[] = []
    for (const [id, item, version] of plan.kept) {
      this.#last = version
      changes.push(this.#store(id, item, version))
    }
    for (const [id, item] of plan.renewed) changes.push(this.#store(id, item, this.#advance(now)))
    const loaded = changes.length
    // Not spread: a call takes only so many arguments.
    if (replace) for (const deletion of this.#deleteOthers(plan, now)) changes.push(deletion)
    const deleted = changes.length - loaded
    return { changes, loaded, versionsKept: plan.kept.length, expired: plan.expired, deleted }
  }

  #checkRoom({ kept, renewed }: RestorePlan, replace: boolean): void {
    let size = replace ? 0 : this.#records.size
    for (const [id] of kept) if (replace || this.#records.get(id) === undefined) size++
    for (const [id] of renewed) if (replace || this.#records.get(id) === undefined) size++
    if (size > this.#maxKeys) throw new CommandError('quota-exceeded')
  }

  #store(id: string, { key, value, fencingToken, expiresAt }: Restored, version: Hlc): Change {
    const token = newer(this.#records.get(id)?.fencingToken, fencingToken)
    this.#records.put(id, { value, version, fencingToken: token, expiresAt })
    return { key, notification: { op: 'set', value }, version }
  }

  *#deleteOthers({ kept, renewed }: RestorePlan, now: number): Iterable<Change> {
    const others = new Set(this.#records.ids())
    for (const [id] of kept) others.delete(id)
    for (const [id] of renewed) others.delete(id)
    for (const id of others) {
      this.#records.remove(id)
      yield { key: fromBinaryString(id), notification: { op: 'delete' }, version: this.#advance(now) }
    }
  }

  // For what nobody asked for in a request, so nobody can be refused: it gets a version even if the wall clock was set
  // back.
  #advance(now: number): Hlc {
    this.#last = advance(this.#last, now, NODE_ID, Number.POSITIVE_INFINITY)
    return this.#last
  }

  #answer(request: StoreRequest, connection: C, now: number, expired: Change[]): Answer {
    const { command } = request
    if (command.verb === 'SCAN') {
      return { reply: scanPage(this.#records.order, String(this.#born), command), version: undefined, changes: expired }
    }
    const id = toBinaryString(command.key)
    if (command.verb === 'KEYNOTIFY') {
      return { reply: this.#keynotify(connection, id, command), version: undefined, changes: expired }
    }
    const outcome = this.#apply(id, command, request, now)
    const { reply, version, change } = outcome
    if (change === undefined) return { reply, version, changes: expired }
    this.#commit(id, outcome)
    const own = { key: command.key, notification: change, version: this.#last }
    return { reply, version, changes: expired.length === 0 ? [own] : [...expired, own] }
  }

  #apply(id: string, command: RecordCommand, request: StoreRequest, now: number): Outcome {
    const record = this.#records.get(id)
    const outcome = apply(record, command, {
      now,
      next: this.#next(command, request, now),
      fencingToken: request.fencingToken,
    })
    if (record === undefined && outcome.record !== undefined && this.#records.size >= this.#maxKeys) {
      throw new CommandError('quota-exceeded')
    }
    return outcome
  }

  #next(command: RecordCommand, { timestamp }: StoreRequest, now: number): Hlc {
    if (command.verb === 'GET') return this.#last
    return advance(timestamp ? laterTime(this.#last, timestamp) : this.#last, now, NODE_ID)
  }

  #commit(id: string, { record, version }: Outcome): void {
    if (version !== undefined) this.#last = version
    if (record === undefined) this.#records.remove(id)
    else this.#records.put(id, record)
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
