import { CommandError } from '../../core/protocol/parse-command.js'
import { fromBinaryString, sameBytes, toBinaryString } from '../../core/util/bytes.js'
import { type ApplyResult, apply } from './apply.js'
import {
  type CommandResult,
  type EntryResult,
  errorResult,
  type KeyChange,
  NO_CHANGES,
  type RestoreResult,
} from './command-result.js'
import type { EntryCommand, LogEntry, LoggedLoad, LoggedWrite } from './entry.js'
import { checkQuota, type IndexedRecord, Records, type State, type StateLoader, type StateRecord } from './records.js'
import { ReplyCache } from './reply-cache.js'
import { deleteAll, restore } from './restore.js'
import { readClocks, VersionClock } from './version-clock.js'

/** The encoded size of a write in the log in addition to its payload. */
const ENTRY_OVERHEAD_BYTES = 256
const MAX_EXPIRED_PER_WRITE = 2

/** The deterministic state machine. Equal entries in equal order give equal states on every node. */
export class StateMachine implements StateLoader {
  readonly records = new Records()
  readonly clock = new VersionClock()
  readonly #replies = new ReplyCache()
  #createdAt: number | undefined

  constructor(state: State | undefined) {
    if (state === undefined) return
    for (const record of state.records) this.restoreRecord(record)
    this.finishRestore(state)
  }

  restoreRecord(record: StateRecord): void {
    this.records.restoreRecord(record)
  }

  finishRestore({ createdAt, version, lastNumber, expiredUntil, replies }: Omit<State, 'records' | 'size'>): void {
    this.#createdAt = createdAt
    this.clock.advanceTo(version)
    this.#replies.restore(replies)
    this.records.order.skipTo(lastNumber)
    if (expiredUntil !== undefined) this.records.restoreExpiredUntil(expiredUntil)
  }

  /** The time of the first entry in ms, which distinguishes this store from earlier stores at the same address. */
  get createdAt(): number | undefined {
    return this.#createdAt
  }

  get stateSize(): number {
    return this.records.stateSize + this.#replies.bytes
  }

  /** Returns whether a write would free more space than its log entry takes. */
  freesSpace({ command, payload }: LoggedWrite): boolean {
    const before = this.records.get(toBinaryString(command.key))
    if (before === undefined) return false
    if (command.verb === 'DEL') return true
    if (command.verb === 'VDEL') return sameBytes(before.value, command.value)
    return before.value.length - command.value.length > payload.length + ENTRY_OVERHEAD_BYTES
  }

  capture(): State {
    const records = this.records.capture()
    const { expiredUntil } = this.records
    return {
      createdAt: this.#createdAt,
      version: this.clock.last,
      lastNumber: this.records.order.last,
      expiredUntil: Number.isFinite(expiredUntil) ? expiredUntil : undefined,
      replies: this.#replies.capture(),
      records,
      size: records.length,
    }
  }

  /** Applies an entry lazily, so that each command runs when its result is read. Never throws for client input. */
  apply(entry: LogEntry): Iterable<EntryResult> {
    const { time, commands } = entry
    this.#createdAt ??= time
    const [first] = commands
    const isAlone = commands.length === 1 && !this.records.isExpiryDue(time)
    // A generator would make an in-memory write three percent slower, and a single result needs no laziness.
    return isAlone && first !== undefined ? [this.#perform(first, entry)] : this.#performAll(entry)
  }

  *#performAll(entry: LogEntry): Generator<EntryResult, void> {
    const { time, maxExpired, commands } = entry
    // A load and a restart concern all keys.
    const isLimited = commands.every(({ type }) => type === 'write')
    yield* this.#expire(time, isLimited ? maxExpired : undefined)
    for (const command of commands) {
      if (command.type === 'write' && this.records.isExpiryDue(time)) yield* this.#expireFor(command, time)
      yield this.#perform(command, entry)
    }
  }

  #perform(command: EntryCommand, entry: LogEntry): EntryResult {
    if (command.type === 'start') return { type: 'expired', changes: this.#deleteVolatile(entry.time) }
    if (command.type === 'write') {
      const answer = this.#write(command, entry)
      return { type: 'answered', changes: answer.changes, answer }
    }
    const outcome = this.#load(command, entry)
    return { type: 'loaded', changes: 'changes' in outcome ? outcome.changes : NO_CHANGES, outcome }
  }

  *#expire(now: number, limit: number | undefined): Generator<EntryResult, void> {
    if (!this.records.isExpiryDue(now)) return
    const changes = this.records.removeExpired(now, limit).map(key => this.#expiryOf(key, now))
    if (changes.length > 0) yield { type: 'expired', changes }
  }

  /**
   * Removes the key of a write if it has expired, and a few others, so that writes free more keys than they add while
   * expired keys remain.
   */
  *#expireFor({ command: { key } }: LoggedWrite, now: number): Generator<EntryResult, void> {
    const id = toBinaryString(key)
    if (this.records.isExpired(id)) {
      this.records.remove(id)
      yield { type: 'expired', changes: [this.#expiryOf(fromBinaryString(id), now)] }
    }
    yield* this.#expire(now, MAX_EXPIRED_PER_WRITE)
  }

  #expiryOf(key: Uint8Array, now: number): KeyChange {
    return { key, notification: { op: 'delete' }, version: this.clock.tick(now), isExpired: true }
  }

  #load(load: LoggedLoad, entry: LogEntry): RestoreResult | CommandError {
    try {
      return restore(load, entry, this.records, this.clock)
    } catch (error) {
      if (error instanceof CommandError) return error
      throw error
    }
  }

  #deleteVolatile(now: number): KeyChange[] {
    const deletions = deleteAll(this.records.volatileIds(), now, this.records, this.clock)
    // These keys count as expired, because no client deleted them: their lifetime ended with the previous run.
    return Array.from(deletions, deletion => ({ ...deletion, isExpired: true }))
  }

  #write(write: LoggedWrite, entry: LogEntry): CommandResult {
    const { origin } = write
    const { time } = entry
    const cached = origin?.dup ? this.#replies.find(origin, time) : undefined
    if (cached !== undefined)
      return { reply: cached.reply, version: cached.version, changes: NO_CHANGES, repeated: true }
    const answer = this.#execute(write, entry)
    if (origin !== undefined) this.#replies.add(origin, time, answer.reply, answer.version)
    return answer
  }

  #execute(write: LoggedWrite, entry: LogEntry): CommandResult {
    try {
      const { command } = write
      const id = toBinaryString(command.key)
      const before = this.records.get(id)
      const outcome = this.#applyWrite(write, entry, id, before)
      const { reply, version, change } = outcome
      if (change === undefined) return { reply, version, changes: NO_CHANGES }
      this.#commit(id, before, outcome)
      const isNew = before === undefined
      return { reply, version, changes: [{ key: command.key, notification: change, version: this.clock.last, isNew }] }
    } catch (error) {
      return errorResult(error)
    }
  }

  #applyWrite(write: LoggedWrite, entry: LogEntry, id: string, before: IndexedRecord | undefined): ApplyResult {
    const { command, volatile, owner } = write
    const { time } = entry
    const clocks = readClocks(command, write, this.clock, time)
    const next = this.clock.next(time, clocks.timestamp)
    const { fencingToken } = clocks
    const outcome = apply(before, command, { now: time, next, fencingToken, volatile, owner: owner?.id })
    if (outcome.change?.op === 'set' && outcome.record !== undefined)
      checkQuota(this.records, { id, before, after: outcome.record }, entry, owner)
    return outcome
  }

  #commit(id: string, before: IndexedRecord | undefined, { record, version }: ApplyResult): void {
    if (version !== undefined) this.clock.advanceTo(version)
    if (record === undefined) this.records.remove(id)
    else this.records.put(id, record, before)
  }
}
