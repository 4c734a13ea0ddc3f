import type { Hlc } from '../../core/hlc/hlc.js'
import type { Command, GlobnotifyCommand, KeynotifyCommand } from '../../core/protocol/commands.js'
import type { Glob } from '../../core/protocol/glob.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'
import { MAX_WATCHED_KEY_BYTES } from '../../core/protocol/topics.js'
import { fromBinaryString, toBinaryString } from '../../core/util/bytes.js'
import { apply, type StoredRecord } from './apply.js'
import {
  type CommandResult,
  type EntryResult,
  errorResult,
  type KeyChange,
  NO_CHANGES,
  type Query,
} from './command-result.js'
import type { EntryCommand, LogEntry, StorageLimits } from './entry.js'
import type { Records, State, StateLoader, UsageByOwner } from './records.js'
import { scanPage } from './scan.js'
import { StateMachine } from './state-machine.js'
import { readClocks, type VersionClock } from './version-clock.js'
import { WATCHES_PER_GLOB, Watchers, type WatchQuotas } from './watchers.js'

export type { CommandResult, EntryResult, KeyChange, RestoreResult } from './command-result.js'
export type { WatchQuotas } from './watchers.js'

export interface EngineOptions<C = unknown> {
  /** The maximum number of keys. A SET that would exceed it is answered with `quota-exceeded`. Default: 1,000,000. */
  readonly maxKeys?: number
  /**
   * The maximum memory in bytes for keys, values, registrations and their overhead. A SET or KEYNOTIFY that would
   * exceed it is answered with `quota-exceeded`. Commands that reduce usage always succeed. Default: 1 GiB.
   */
  readonly maxBytes?: number
  /** The rights of connections. Default: full access. */
  readonly rights?: KeyRights<C> | undefined
  /** The limits on watches in addition to `maxBytes`. Default: unlimited. */
  readonly watches?: WatchQuotas<C> | undefined
  /** Called with each result before the caller gets it. */
  readonly onResult?: ((result: EntryResult) => void) | undefined
}

/** The limit on expired keys that one entry removes, so that the entry does not delay others for long. */
export const MAX_EXPIRED_PER_ENTRY = 256

/** The length in bytes above which a key's writer is charged for comparing the key with globs. */
const MAX_UNCHARGED_KEY_BYTES = 256

/**
 * The state store without network, timers or clock. The caller passes the time. `C` identifies a connection. Records
 * change only through log entries, and applying equal entries in equal order gives equal states on every node. Watches
 * are not part of that state.
 *
 * @example
 * ```ts
 * const engine = new Engine<string>()
 * for (const result of engine.apply({
 *   time: Date.now(),
 *   ...engine.limits,
 *   commands: [write],
 * }))
 *   console.log(result.type)
 * const { reply } = engine.query({ command }, 'client-1', Date.now())
 * ```
 */
export class Engine<C> {
  readonly watchers: Watchers<C>
  readonly #maxKeys: number
  readonly #maxBytes: number
  readonly #rights: KeyRights<C> | undefined
  readonly #onResult: ((result: EntryResult) => void) | undefined
  readonly #stateMachine: StateMachine
  readonly #records: Records
  readonly #clock: VersionClock

  constructor(options: EngineOptions<C> = {}, state?: State) {
    this.#maxKeys = options.maxKeys ?? 1_000_000
    this.#maxBytes = options.maxBytes ?? 1024 ** 3
    this.#rights = options.rights
    this.#onResult = options.onResult
    this.watchers = new Watchers<C>(options.watches)
    this.#stateMachine = new StateMachine(state)
    this.#records = this.#stateMachine.records
    this.#clock = this.#stateMachine.clock
  }

  /** The loader that restores a captured state. Callers must use it before any other member. */
  get stateLoader(): StateLoader {
    return this.#stateMachine
  }

  capture(): State {
    return this.#stateMachine.capture()
  }

  /** The limits for the next entry, reduced by the memory of watches. */
  get limits(): StorageLimits {
    return { maxKeys: this.#maxKeys, maxBytes: this.#maxBytes - this.watchers.bytes }
  }

  get size(): number {
    return this.#records.size
  }

  /** The memory in use in bytes. See {@link EngineOptions.maxBytes}. */
  get bytes(): number {
    return this.#records.bytes + this.watchers.bytes
  }

  /** The approximate encoded size of {@link capture} in bytes. */
  get stateSize(): number {
    return this.#stateMachine.stateSize
  }

  /** Returns whether a write would free more space than its log entry takes. */
  freesSpace(command: EntryCommand): boolean {
    return command.type === 'write' && this.#stateMachine.freesSpace(command)
  }

  get usage(): Pick<UsageByOwner, 'of' | 'entries'> {
    return this.#records.usage
  }

  /** A counter that increases whenever a key is created or deleted. */
  get keyspace(): number {
    return this.#records.keyspace
  }

  /** The earliest expiry of any key, in ms since the Unix epoch. A log entry of that time or later removes the key. */
  get nextDeadline(): number | undefined {
    return this.#records.nextDeadline
  }

  /** The time in ms until which keys count as absent although they are not removed yet. See {@link LogEntry.maxExpired}. */
  get expiredUntil(): number {
    return this.#records.expiredUntil
  }

  /** Returns the {@link LogEntry.maxExpired} of the next entry, if keys are due at `now` (ms), possibly too many for one entry. */
  maxExpired(now: number): number | undefined {
    return this.#records.mayExceed(MAX_EXPIRED_PER_ENTRY, now) ? MAX_EXPIRED_PER_ENTRY : undefined
  }

  /** The newest version assigned. */
  get lastVersion(): Hlc {
    return this.#clock.last
  }

  /**
   * Returns the time in ms by which versions are ahead of wall time `now` after the clock was set back, or 0 within the
   * permitted drift.
   */
  drift(now: number): number {
    return this.#clock.drift(now)
  }

  /** Returns whether the store accepts a clock reading in a request or a dump at wall time `now` in ms. */
  isAccepted(reading: Hlc, now: number): boolean {
    return this.#clock.isAccepted(reading, now)
  }

  records(): Iterable<readonly [key: Uint8Array, record: StoredRecord]> {
    return this.#records.entries()
  }

  /** Returns a record without checking rights. Intended for operators. */
  peek(key: Uint8Array): StoredRecord | undefined {
    return this.#records.get(toBinaryString(key))
  }

  /**
   * Returns the connections that watch a key, directly or by a glob. Connections that watch by a glob are included only
   * while they may read the key.
   */
  watchersOf(key: Uint8Array): Iterable<C> {
    if (this.watchers.count === 0) return []
    const id = toBinaryString(key)
    const watchers = this.watchers.watchersOf(id)
    if (this.watchers.globs.size === 0) return watchers
    const all = new Set(watchers)
    for (const connection of this.watchers.globs.watchersOf(id)) {
      if (!all.has(connection) && this.#canRead(connection, key)) all.add(connection)
    }
    return all
  }

  /**
   * Returns the cost of matching changed keys against globs: key bytes times words of the globs, for long keys only.
   */
  globWorkOf(changes: readonly KeyChange[]): number {
    if (this.watchers.globs.size === 0) return 0
    const longKeys = changes.filter(({ key }) => key.length > MAX_UNCHARGED_KEY_BYTES)
    return longKeys.reduce((sum, { key }) => sum + this.watchers.globs.workOf(toBinaryString(key)), 0)
  }

  /** Returns the keys that a connection watches, except those that it watches by a glob. */
  *watchedBy(connection: C): Iterable<Uint8Array> {
    for (const id of this.watchers.keysOf(connection)) yield fromBinaryString(id)
  }

  /**
   * Applies an entry lazily, so that each command runs when its result is read. The caller must consume all results, or
   * call {@link replay} instead. Never throws for client input.
   */
  apply(entry: LogEntry): Iterable<EntryResult> {
    const results = this.#stateMachine.apply(entry)
    return this.#onResult === undefined ? results : withListener(results, this.#onResult)
  }

  replay(entry: LogEntry): void {
    const results = this.apply(entry)[Symbol.iterator]()
    while (!results.next().done);
  }

  allows(connection: C, command: Command): boolean {
    return this.#rights === undefined || isAllowed(this.#rights, connection, command)
  }

  /** Answers a read from the current state if the connection has the right to it. Never throws for client input. */
  query(query: Query, connection: C, now: number): CommandResult {
    try {
      return this.#query(query, connection, now)
    } catch (error) {
      return errorResult(error)
    }
  }

  #query(query: Query, connection: C, now: number): CommandResult {
    const { command } = query
    if (!this.allows(connection, command)) throw new CommandError('not-authorized')
    readClocks(command, query, this.#clock, now)
    if (command.verb === 'SCAN') {
      const readable = this.#rights?.readable(connection)
      const { reply, work } = scanPage(this.#records, String(this.#stateMachine.createdAt), command, readable)
      return { reply, version: undefined, changes: NO_CHANGES, work }
    }
    if (command.verb === 'GLOBNOTIFY') {
      return {
        reply: this.#globnotify(connection, command),
        version: undefined,
        position: this.#clock.last,
        changes: NO_CHANGES,
      }
    }
    const id = toBinaryString(command.key)
    if (command.verb === 'KEYNOTIFY') {
      return { reply: this.#keynotify(connection, id, command), version: undefined, changes: NO_CHANGES }
    }
    const { last } = this.#clock
    const { reply, version } = apply(this.#records.get(id), command, { now, next: last, fencingToken: undefined })
    return { reply, version, position: reply.type === 'absent' ? last : undefined, changes: NO_CHANGES }
  }

  #keynotify(connection: C, id: string, { key, stop }: KeynotifyCommand): Reply {
    if (stop) return this.watchers.remove(connection, id) ? { type: 'ok' } : { type: 'count', count: 0 }
    if (key.length > MAX_WATCHED_KEY_BYTES) throw new CommandError('quota-exceeded')
    const bytes = this.watchers.addedBytes(connection, id)
    if (bytes > 0 && this.watchers.isKeyFull(id)) throw new CommandError('quota-exceeded')
    this.#checkWatchQuota(connection, bytes, 1)
    this.watchers.add(connection, id)
    return { type: 'ok' }
  }

  #globnotify(connection: C, { glob, stop }: GlobnotifyCommand): Reply {
    const id = toBinaryString(glob)
    if (stop) return this.watchers.removeGlob(connection, id) ? { type: 'ok' } : { type: 'count', count: 0 }
    const bytes = this.watchers.globs.addedBytes(connection, id)
    if (bytes > 0 && this.watchers.areGlobsFull) throw new CommandError('quota-exceeded')
    this.#checkWatchQuota(connection, bytes, WATCHES_PER_GLOB)
    this.watchers.addGlob(connection, id)
    return { type: 'ok' }
  }

  /**
   * Throws {@link CommandError} if a watch exceeds the limits.
   *
   * @param count - number of watches that the new watch counts as
   */
  #checkWatchQuota(connection: C, bytes: number, count: number): void {
    const isFull =
      this.watchers.countOf(connection) + count > Math.max(this.#maxKeys, count) ||
      this.watchers.isFullFor(connection, count)
    if (bytes > 0 && (isFull || this.bytes + bytes > this.#maxBytes)) throw new CommandError('quota-exceeded')
  }

  #canRead(connection: C, key: Uint8Array): boolean {
    return this.#rights?.readable(connection).matches(key) ?? true
  }
}

function* withListener(
  results: Iterable<EntryResult>,
  onResult: (result: EntryResult) => void,
): Generator<EntryResult, void> {
  for (const result of results) {
    onResult(result)
    yield result
  }
}

/** The rights of connections to keys. `C` identifies a connection. */
export interface KeyRights<C> {
  mayRead(connection: C, key: Uint8Array): boolean
  mayWrite(connection: C, key: Uint8Array): boolean
  /** Returns a glob of the keys that a connection may read. SCAN lists only these keys. */
  readable(connection: C): Glob
}

/**
 * Returns whether a connection may send a command. GET and KEYNOTIFY require the right to read, SET and DEL the right
 * to write. VDEL requires both, because its reply reveals whether the value matched. Ending a watch needs no right, and
 * the results of SCAN and GLOBNOTIFY are filtered by read rights.
 */
function isAllowed<C>(rights: KeyRights<C>, connection: C, command: Command): boolean {
  if ('glob' in command || (command.verb === 'KEYNOTIFY' && command.stop)) return true
  const { verb, key } = command
  const reads = verb === 'GET' || verb === 'KEYNOTIFY' || verb === 'VDEL'
  const writes = verb === 'SET' || verb === 'DEL' || verb === 'VDEL'
  return (!reads || rights.mayRead(connection, key)) && (!writes || rights.mayWrite(connection, key))
}
