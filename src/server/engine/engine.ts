import type { Command, GlobnotifyCommand, KeynotifyCommand } from '../../core/protocol/commands.js'
import type { Glob } from '../../core/protocol/glob.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'
import { fromBinaryString, toBinaryString } from '../../core/util/bytes.js'
import { apply, type StoredRecord } from './apply.js'
import { type Applied, type Change, type CommandResult, NONE, type Query, refusal } from './command-result.js'
import type { Entry, EntryCommand, Room } from './entry.js'
import type { Records, State, StateTaker, UsageByOwner } from './records.js'
import { scanPage } from './scan.js'
import { StateMachine } from './state-machine.js'
import { readClocks, type VersionClock } from './version-clock.js'
import { GLOB_COUNTS, Watchers, type WatchQuotas } from './watchers.js'

export type { Applied, Change, CommandResult as Answer, Restoration } from './command-result.js'
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
  /** Sees all that comes of entries before it is passed on. Default nobody. */
  readonly witness?: ((result: Applied) => void) | undefined
}

/** A longer key cannot be watched, bytes: its notification topic would be longer than MQTT allows. */
const LONGEST_WATCHED_KEY = 30_000
/** To compare a longer key with globs is charged to who changes it, bytes. */
const LONGEST_FREE_KEY = 256

/**
 * The state store without network, timers or clock: every call brings the time along. `C` stands for a connection.
 * What changes records comes in entries, and equal entries in equal order make equal states, wherever they are applied.
 * Watches are not part of that state.
 *
 * @example
 * ```ts
 * const engine = new Engine<string>()
 * for (const result of engine.apply({ time: Date.now(), ...engine.room, commands: [write] })) console.log(result.type)
 * const { reply } = engine.ask({ command }, 'client-1', Date.now())
 * ```
 */
export class Engine<C> {
  readonly watchers: Watchers<C>
  readonly #maxKeys: number
  readonly #maxBytes: number
  readonly #rights: KeyRights<C> | undefined
  readonly #witness: ((result: Applied) => void) | undefined
  readonly #stateMachine: StateMachine
  readonly #records: Records
  readonly #clock: VersionClock

  /** @param state - what to begin with */
  constructor(options: EngineOptions<C> = {}, state?: State) {
    this.#maxKeys = options.maxKeys ?? 1_000_000
    this.#maxBytes = options.maxBytes ?? 1024 ** 3
    this.#rights = options.rights
    this.#witness = options.witness
    this.watchers = new Watchers<C>(options.watches)
    this.#stateMachine = new StateMachine(state)
    this.#records = this.#stateMachine.records
    this.#clock = this.#stateMachine.clock
  }

  /** Where a state is taken back; to be done before anything else. */
  get taker(): StateTaker {
    return this.#stateMachine
  }

  /** The state as it is now. */
  capture(): State {
    return this.#stateMachine.capture()
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

  /** What a captured state takes as bytes, roughly. */
  get stateSize(): number {
    return this.#stateMachine.stateSize
  }

  /** Returns whether a command would leave so much less that it pays for its place in a log. */
  frees(command: EntryCommand): boolean {
    return command.type === 'write' && this.#stateMachine.frees(command)
  }

  /** What of it is whose. */
  get shares(): Pick<UsageByOwner, 'of' | 'entries'> {
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

  /** The connections that watch a key, by itself or by a glob; these as long as they may read it. */
  watchersOf(key: Uint8Array): Iterable<C> {
    if (this.watchers.count === 0) return []
    const id = toBinaryString(key)
    const watchers = this.watchers.of(id)
    if (this.watchers.globs.size === 0) return watchers
    const all = new Set(watchers)
    for (const connection of this.watchers.globs.of(id)) {
      if (!all.has(connection) && this.#reads(connection, key)) all.add(connection)
    }
    return all
  }

  /**
   * What it takes to find out who watches keys by a glob, if that is more than for keys as most are: bytes of keys, times
   * words of globs.
   */
  globWorkOf(changes: readonly Change[]): number {
    if (this.watchers.globs.size === 0) return 0
    const long = changes.filter(({ key }) => key.length > LONGEST_FREE_KEY)
    return long.reduce((sum, { key }) => sum + this.watchers.globs.workOf(toBinaryString(key)), 0)
  }

  /** The keys a connection watches. */
  *watchedBy(connection: C): Iterable<Uint8Array> {
    for (const id of this.watchers.keysOf(connection)) yield fromBinaryString(id)
  }

  /**
   * Applies an entry. Each command is done as its result is taken, and sees those before it: take all of them, or
   * {@link replay} the entry. Never throws for what a client sent.
   */
  apply(entry: Entry): Iterable<Applied> {
    const results = this.#stateMachine.apply(entry)
    return this.#witness === undefined ? results : witnessed(results, this.#witness)
  }

  /** Applies an entry whose results nobody waits for. */
  replay(entry: Entry): void {
    const results = this.apply(entry)[Symbol.iterator]()
    while (!results.next().done);
  }

  /** Whether a connection may send a command. */
  allows(connection: C, command: Command): boolean {
    return this.#rights === undefined || isAllowed(this.#rights, connection, command)
  }

  /** Answers a request as things are, if its connection has the right. Never throws for what a client sent. */
  ask(query: Query, connection: C, now: number): CommandResult {
    try {
      return this.#ask(query, connection, now)
    } catch (error) {
      return refusal(error)
    }
  }

  #ask(query: Query, connection: C, now: number): CommandResult {
    const { command } = query
    if (!this.allows(connection, command)) throw new CommandError('not-authorized')
    readClocks(command, query, this.#clock.latest(now))
    if (command.verb === 'SCAN') {
      const readable = this.#rights?.readable(connection)
      const { reply, work } = scanPage(this.#records.order, String(this.#stateMachine.born), command, readable)
      return { reply, version: undefined, changes: NONE, work }
    }
    if (command.verb === 'GLOBNOTIFY') {
      return {
        reply: this.#globnotify(connection, command),
        version: undefined,
        position: this.#clock.last,
        changes: NONE,
      }
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
    const bytes = this.watchers.costOf(connection, id)
    if (bytes > 0 && this.watchers.isKeyFull(id)) throw new CommandError('quota-exceeded')
    this.#checkRoom(connection, bytes, 1)
    this.watchers.add(connection, id)
    return { type: 'ok' }
  }

  #globnotify(connection: C, { glob, stop }: GlobnotifyCommand): Reply {
    const id = toBinaryString(glob)
    if (stop) return this.watchers.removeGlob(connection, id) ? { type: 'ok' } : { type: 'count', count: 0 }
    const bytes = this.watchers.globs.costOf(connection, id)
    if (bytes > 0 && this.watchers.areGlobsFull) throw new CommandError('quota-exceeded')
    this.#checkRoom(connection, bytes, GLOB_COUNTS)
    this.watchers.addGlob(connection, id)
    return { type: 'ok' }
  }

  /** Raises {@link CommandError} when there is no room for a watch that takes so many bytes, and counts so much. */
  #checkRoom(connection: C, bytes: number, count: number): void {
    const isFull =
      this.watchers.countOf(connection) + count > Math.max(this.#maxKeys, count) ||
      this.watchers.isFullFor(connection, count)
    if (bytes > 0 && (isFull || this.bytes + bytes > this.#maxBytes)) throw new CommandError('quota-exceeded')
  }

  #reads(connection: C, key: Uint8Array): boolean {
    return this.#rights?.readable(connection).matches(key) ?? true
  }
}

function* witnessed(results: Iterable<Applied>, witness: (result: Applied) => void): Generator<Applied, void> {
  for (const result of results) {
    witness(result)
    yield result
  }
}

/** What connections may do with keys. `C` stands for a connection. */
export interface KeyRights<C> {
  mayRead(connection: C, key: Uint8Array): boolean
  mayWrite(connection: C, key: Uint8Array): boolean
  /** The keys a connection may read: SCAN lists no others. */
  readable(connection: C): Glob
}

/**
 * Whether a connection may send a command: GET and KEYNOTIFY read, SET and DEL write, VDEL does both, as its answer tells
 * whether the value is the one asked for. To give up a watch needs no right, SCAN answers with the keys that may be read, and
 * GLOBNOTIFY tells of them alone.
 */
function isAllowed<C>(rights: KeyRights<C>, connection: C, command: Command): boolean {
  if ('glob' in command || (command.verb === 'KEYNOTIFY' && command.stop)) return true
  const { verb, key } = command
  const reads = verb === 'GET' || verb === 'KEYNOTIFY' || verb === 'VDEL'
  const writes = verb === 'SET' || verb === 'DEL' || verb === 'VDEL'
  return (!reads || rights.mayRead(connection, key)) && (!writes || rights.mayWrite(connection, key))
}
