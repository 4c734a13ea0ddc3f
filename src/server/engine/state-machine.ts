import { CommandError } from '../../core/protocol/parse-command.js'
import { sameBytes, toBinaryString } from '../../core/util/bytes.js'
import { apply, type Outcome } from './apply.js'
import { type Applied, type Change, type CommandResult, NONE, type Restoration, refusal } from './command-result.js'
import type { Entry, EntryCommand, Load, Write } from './entry.js'
import { checkQuota, type IndexedRecord, Records, type State, type StateRecord, type StateTaker } from './records.js'
import { ReplyCache } from './reply-cache.js'
import { deleteAll, restore } from './restore.js'
import { readClocks, VersionClock } from './version-clock.js'

/** What a write takes in a log besides its payload, bytes. */
const ENTRY_OVERHEAD = 256

/** What entries make: equal entries in equal order make equal ledgers, wherever they are applied. */
export class StateMachine implements StateTaker {
  readonly records = new Records()
  readonly clock = new VersionClock()
  readonly #answered = new ReplyCache()
  #born: number | undefined

  /** @param state - what to begin with */
  constructor(state: State | undefined) {
    if (state === undefined) return
    for (const record of state.records) this.putBack(record)
    this.resume(state)
  }

  putBack(record: StateRecord): void {
    this.records.putBack(record)
  }

  resume({ born, version, lastNumber, answered }: Omit<State, 'records' | 'size'>): void {
    this.#born = born
    this.clock.keep(version)
    this.#answered.restore(answered)
    this.records.order.skipTo(lastNumber)
  }

  /** Time of the first entry, ms: tells this store from the one that had its place before. */
  get born(): number | undefined {
    return this.#born
  }

  /** What {@link capture} takes as bytes, roughly. */
  get stateSize(): number {
    return this.records.stateSize + this.#answered.bytes
  }

  /** Returns whether a write would leave so much less that it pays for its place in a log. */
  frees({ command, payload }: Write): boolean {
    const before = this.records.get(toBinaryString(command.key))
    if (before === undefined) return false
    if (command.verb === 'DEL') return true
    if (command.verb === 'VDEL') return sameBytes(before.value, command.value)
    return before.value.length - command.value.length > payload.length + ENTRY_OVERHEAD
  }

  /** The state as it is now. */
  capture(): State {
    const records = this.records.capture()
    return {
      born: this.#born,
      version: this.clock.last,
      lastNumber: this.records.order.last,
      answered: this.#answered.capture(),
      records,
      size: records.length,
    }
  }

  /** Applies an entry, one command after the other as its results are taken. Never throws for what a client sent. */
  apply(entry: Entry): Iterable<Applied> {
    const { time, commands } = entry
    this.#born ??= time
    const [first] = commands
    const { nextDeadline } = this.records
    const isAlone = commands.length === 1 && (nextDeadline === undefined || nextDeadline > time)
    // Nobody can look in between; a generator costs a write of a store in memory three percent.
    return isAlone && first !== undefined ? [this.#perform(first, entry)] : this.#inTurn(entry)
  }

  *#inTurn(entry: Entry): Generator<Applied, void> {
    const changes = this.#expire(entry.time)
    if (changes.length > 0) yield { type: 'expired', changes }
    for (const command of entry.commands) yield this.#perform(command, entry)
  }

  #perform(command: EntryCommand, entry: Entry): Applied {
    if (command.type === 'start') return { type: 'expired', changes: this.#begin(entry.time) }
    if (command.type === 'write') {
      const answer = this.#write(command, entry)
      return { type: 'answered', changes: answer.changes, answer }
    }
    const outcome = this.#load(command, entry)
    return { type: 'loaded', changes: 'changes' in outcome ? outcome.changes : NONE, outcome }
  }

  #expire(now: number): readonly Change[] {
    const { nextDeadline } = this.records
    if (nextDeadline === undefined || nextDeadline > now) return NONE
    return this.records
      .removeDue(now)
      .map(key => ({ key, notification: { op: 'delete' }, version: this.clock.tick(now), isExpired: true }))
  }

  #load(load: Load, entry: Entry): Restoration | CommandError {
    try {
      return restore(load, entry, this.records, this.clock)
    } catch (error) {
      if (error instanceof CommandError) return error
      throw error
    }
  }

  /** The store starts again. */
  #begin(now: number): Change[] {
    const deletions = deleteAll(this.records.volatileIds(), now, this.records, this.clock)
    // Nobody asked for it: their time was that of the store's last start.
    return Array.from(deletions, deletion => ({ ...deletion, isExpired: true }))
  }

  #write(write: Write, entry: Entry): CommandResult {
    const { origin } = write
    const { time } = entry
    const before = origin?.dup ? this.#answered.find(origin, time) : undefined
    if (before !== undefined) return { reply: before.reply, version: before.version, changes: NONE, repeated: true }
    const answer = this.#answer(write, entry)
    if (origin !== undefined) this.#answered.note(origin, time, answer.reply, answer.version)
    return answer
  }

  #answer(write: Write, entry: Entry): CommandResult {
    try {
      const { command } = write
      const id = toBinaryString(command.key)
      const before = this.records.get(id)
      const outcome = this.#outcomeOf(write, entry, id, before)
      const { reply, version, change } = outcome
      if (change === undefined) return { reply, version, changes: NONE }
      this.#commit(id, before, outcome)
      return { reply, version, changes: [{ key: command.key, notification: change, version: this.clock.last }] }
    } catch (error) {
      return refusal(error)
    }
  }

  #outcomeOf(write: Write, entry: Entry, id: string, before: IndexedRecord | undefined): Outcome {
    const { command, volatile, owner } = write
    const { time } = entry
    const clocks = readClocks(command, write, this.clock.latest(time))
    const next = this.clock.next(time, clocks.timestamp)
    const { fencingToken } = clocks
    const outcome = apply(before, command, { now: time, next, fencingToken, volatile, owner: owner?.id })
    if (outcome.change?.op === 'set' && outcome.record !== undefined)
      checkQuota(this.records, { id, before, after: outcome.record }, entry, owner)
    return outcome
  }

  #commit(id: string, before: IndexedRecord | undefined, { record, version }: Outcome): void {
    if (version !== undefined) this.clock.keep(version)
    if (record === undefined) this.records.remove(id)
    else this.records.put(id, record, before)
  }
}
