import { fromBinaryString, toBinaryString } from '../base/bytes.js'
import type { Command, KeynotifyCommand } from '../protocol/commands.js'
import { CommandError, parseCommand } from '../protocol/parse-command.js'
import type { Reply } from '../protocol/replies.js'
import type { KnownServiceErrorCode } from '../protocol/service-errors.js'
import type { Answer, Applier, Change, Restoration } from './answer.js'
import { AnsweredWrites } from './answered.js'
import { apply, type Outcome, type StoredRecord } from './apply.js'
import { type Entry, isWrite, type Load, type Room, type Write } from './entry.js'
import { Records } from './records.js'
import { type RawRequest, readClocks } from './request.js'
import { deleteAll, restore } from './restore.js'
import { isAllowed, type KeyRights } from './rights.js'
import { checkRoom } from './room.js'
import { scanPage } from './scan.js'
import type { Shares } from './shares.js'
import type { State } from './state.js'
import { VersionClock } from './version-clock.js'
import { Watchers, type WatchQuotas } from './watchers.js'

export type { Answer, Applier, Change, Restoration } from './answer.js'
export type { WatchQuotas } from './watchers.js'

export interface EngineOptions<C = unknown> {
  /** Most keys the store holds; a SET of one more answers `the quota has been exceeded`. Default 1,000,000. */
  readonly maxKeys?: number
  /**
   * Most the store keeps, bytes: keys, values, watched keys, and what each of them takes besides. A SET or KEYNOTIFY that
   * needs more answers `the quota has been exceeded`; what makes it less is always done. Default 1 GiB.
   */
  readonly maxBytes?: number
  /** What connections may do; default everything. */
  readonly rights?: KeyRights<C> | undefined
  /** How many keys may be watched besides; default any number. */
  readonly watches?: WatchQuotas<C> | undefined
}

/** A longer key cannot be watched, bytes: its notification topic would be longer than MQTT allows. */
const LONGEST_WATCHED_KEY = 30_000

/**
 * The state store without network, timers or clock: every call brings the time along. `C` stands for a connection.
 * What changes records comes in entries, and equal entries in equal order make equal states, wherever they are applied.
 * Who watches what is no part of that state.
 *
 * @example
 * ```ts
 * const engine = new Engine<string>()
 * engine.apply({ time: Date.now(), ...engine.room, commands: [write] }, applier)
 * const { reply } = engine.ask({ payload }, 'client-1')
 * ```
 */
export class Engine<C> {
  readonly watchers: Watchers<C>
  readonly #maxKeys: number
  readonly #maxBytes: number
  readonly #rights: KeyRights<C> | undefined
  readonly #records = new Records()
  readonly #clock = new VersionClock()
  readonly #answered = new AnsweredWrites()
  /** Time of the first request, ms: tells this store from the one that had its place before. */
  #born: number | undefined

  /** @param state - what to begin with */
  constructor(options: EngineOptions<C> = {}, state?: State) {
    this.#maxKeys = options.maxKeys ?? 1_000_000
    this.#maxBytes = options.maxBytes ?? 1024 ** 3
    this.#rights = options.rights
    this.watchers = new Watchers<C>(options.watches)
    if (state === undefined) return
    this.#born = state.born
    this.#clock.keep(state.version)
    this.#answered.restore(state.answered)
    for (const record of state.records) this.#records.putBack(record.id, record, record.number)
    this.#records.order.skipTo(state.lastNumber)
  }

  /** The state as it is now. */
  capture(): State {
    const records = this.#records.capture()
    return {
      born: this.#born,
      version: this.#clock.last,
      lastNumber: this.#records.order.last,
      answered: this.#answered.capture(),
      records,
      size: records.length,
    }
  }

  /** What the next entry may come to: what is left of the bounds beside what watches take. */
  get room(): Room {
    return { maxKeys: this.#maxKeys, maxBytes: this.#maxBytes - this.watchers.bytes }
  }

  /** Number of keys. */
  get size(): number {
    return this.#records.size
  }

  /** What is kept, bytes; see {@link EngineOptions.maxBytes}. */
  get bytes(): number {
    return this.#records.bytes + this.watchers.bytes
  }

  /** What of it is whose. */
  get shares(): Pick<Shares, 'of' | 'entries'> {
    return this.#records.shares
  }

  /** Rises when a key is made or removed. */
  get keyspace(): number {
    return this.#records.keyspace
  }

  /** When the next key expires with an entry of that time or a later one, ms since the Unix epoch. */
  get nextDeadline(): number | undefined {
    return this.#records.nextDeadline
  }

  /** How far versions are ahead of wall time `now` (ms) because that was set back, ms; else 0. */
  drift(now: number): number {
    return this.#clock.drift(now)
  }

  /** The latest time, ms, that a clock in a request or a dump may have at wall time `now`. */
  latestClock(now: number): number {
    return this.#clock.latest(now)
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

  /** Applies an entry. Never throws for what a client sent. */
  apply(entry: Entry, applier: Applier): void {
    const { time, commands } = entry
    this.#born ??= time
    const expired = this.#expire(time)
    if (expired.length > 0) applier.expired(expired)
    let index = 0
    for (const command of commands) {
      if (command.type === 'write') applier.answered(index++, this.#write(command, entry))
      else if (command.type === 'load') applier.loaded(index++, this.#load(command, entry))
      else applier.expired(this.#begin(time))
    }
  }

  /** Whether a connection may send a command. What it may not is for {@link ask}, which says so. */
  allows(connection: C, command: Command): boolean {
    return this.#rights === undefined || isAllowed(this.#rights, connection, command)
  }

  /** Answers a request that changes no record, or that is not allowed, as things are. Never throws for what a client sent. */
  ask(raw: RawRequest, connection: C, now: number): Answer {
    try {
      return this.#ask(raw, connection, now)
    } catch (error) {
      return refusal(error)
    }
  }

  #expire(now: number): readonly Change[] {
    const { nextDeadline } = this.#records
    if (nextDeadline === undefined || nextDeadline > now) return NONE
    return this.#records
      .removeDue(now)
      .map(key => ({ key, notification: { op: 'delete' }, version: this.#clock.tick(now) }))
  }

  #load(load: Load, entry: Entry): Restoration | CommandError {
    try {
      return restore(load, entry, this.#records, this.#clock)
    } catch (error) {
      if (error instanceof CommandError) return error
      throw error
    }
  }

  /** The store starts again. */
  #begin(now: number): Change[] {
    const ids = this.#records.capture().flatMap(({ id, volatile }) => (volatile ? [id] : []))
    return Array.from(deleteAll(ids, now, this.#records, this.#clock))
  }

  #write(write: Write, entry: Entry): Answer {
    const { origin } = write
    const { time } = entry
    const before = origin?.dup ? this.#answered.find(origin, time) : undefined
    if (before !== undefined) return { reply: before.reply, version: before.version, changes: NONE }
    const answer = this.#answer(write, entry)
    if (origin !== undefined) this.#answered.note(origin, time, answer.reply, answer.version)
    return answer
  }

  #answer(write: Write, entry: Entry): Answer {
    try {
      const { command } = write
      const outcome = this.#outcomeOf(write, entry)
      const { reply, version, change } = outcome
      if (change === undefined) return { reply, version, changes: NONE }
      this.#commit(toBinaryString(command.key), outcome)
      return { reply, version, changes: [{ key: command.key, notification: change, version: this.#clock.last }] }
    } catch (error) {
      return refusal(error)
    }
  }

  #outcomeOf(write: Write, entry: Entry): Outcome {
    const { command, volatile, owner } = write
    const { time } = entry
    const clocks = readClocks(command, write, this.#clock.latest(time))
    const id = toBinaryString(command.key)
    const record = this.#records.get(id)
    const next = this.#clock.next(time, clocks.timestamp)
    const { fencingToken } = clocks
    const outcome = apply(record, command, { now: time, next, fencingToken, volatile, owner: owner?.id })
    if (outcome.change?.op === 'set' && outcome.record !== undefined)
      checkRoom(this.#records, { id, before: record, after: outcome.record }, entry, owner)
    return outcome
  }

  #commit(id: string, { record, version }: Outcome): void {
    if (version !== undefined) this.#clock.keep(version)
    if (record === undefined) this.#records.remove(id)
    else this.#records.put(id, record)
  }

  #ask(raw: RawRequest, connection: C, now: number): Answer {
    const command = raw.command ?? parseCommand(raw.payload)
    readClocks(command, raw, this.#clock.latest(now))
    // A write comes here when it is not allowed; what is allowed goes through the log.
    if (isWrite(command) || !this.allows(connection, command)) throw new CommandError('not-authorized')
    if (command.verb === 'SCAN') {
      const readable = this.#rights?.readable(connection)
      const { reply, work } = scanPage(this.#records.order, String(this.#born), command, readable)
      return { reply, version: undefined, changes: NONE, work }
    }
    const id = toBinaryString(command.key)
    if (command.verb === 'KEYNOTIFY') {
      return { reply: this.#keynotify(connection, id, command), version: undefined, changes: NONE }
    }
    const { last } = this.#clock
    const { reply, version } = apply(this.#records.get(id), command, { now, next: last, fencingToken: undefined })
    return { reply, version, position: reply.type === 'absent' ? last : undefined, changes: NONE }
  }

  #keynotify(connection: C, id: string, { key, stop }: KeynotifyCommand): Reply {
    if (stop) return this.watchers.remove(connection, id) ? { type: 'ok' } : { type: 'count', count: 0 }
    if (key.length > LONGEST_WATCHED_KEY) throw new CommandError('quota-exceeded')
    const more = this.watchers.costOf(connection, id)
    const isFull = this.watchers.countOf(connection) >= this.#maxKeys || this.watchers.isFullFor(connection)
    if (more > 0 && (isFull || this.bytes + more > this.#maxBytes)) {
      throw new CommandError('quota-exceeded')
    }
    this.watchers.add(connection, id)
    return { type: 'ok' }
  }
}

const NONE: readonly Change[] = []

const refusal = (error: unknown): Answer => ({
  reply: { type: 'error', code: codeOf(error) },
  version: undefined,
  changes: NONE,
})

function codeOf(error: unknown): KnownServiceErrorCode {
  if (error instanceof CommandError) return error.code
  throw error
}
