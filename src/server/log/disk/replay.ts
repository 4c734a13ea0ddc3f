import { toBinaryString } from '../../../core/util/bytes.js'
import { Engine } from '../../engine/engine.js'
import type { EntryCommand, LogEntry, LoggedLoad, LoggedWrite, Origin } from '../../engine/entry.js'
import type { State, StateLoader, StateRecord } from '../../engine/records.js'
import { VersionClock } from '../../engine/version-clock.js'
import { decodeBlock, type StateHead } from '../state-codec.js'

/**
 * The reason why a write depends on missing entries. The write is conditional, its key may have received a newer
 * fencing token, or the write may repeat an earlier write.
 */
export type DependencyReason = 'condition' | 'fencing-token' | 'repeat'

/** A write that was read but not applied. */
export interface DependentWrite {
  readonly verb: LoggedWrite['command']['verb']
  readonly key: Uint8Array
  /** The request's size. */
  readonly bytes: number
  readonly why: DependencyReason
}

/**
 * Applies a log's entries in which some are missing. After a gap, a write is applied only if its result does not
 * depend on the missing entries. Other writes are omitted.
 *
 * After a gap, a key is uncertain until an unconditional write sets or deletes it. Such a write is applied unless it or
 * its key has a fencing token, because tokens decide whether the write of a lease holder counts.
 */
export class Replay {
  readonly engine = new Engine<never>({ maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY })
  #hasGap = false
  /** The keys that are certain since the last gap, or `undefined` if all keys are certain. */
  #certainKeys: Set<string> | undefined
  /** The ids of the requests applied since the last gap. */
  #seenRequests = new Set<string>()
  /** The keys written since the first gap, whose original versions are unknown. */
  readonly #rewrittenKeys = new Set<string>()

  /**
   * Records missing entries.
   *
   * @param certainKeys - keys that are certain despite the gap
   */
  addGap(certainKeys: ReadonlySet<string> | 'all' = new Set()): void {
    this.#hasGap = true
    this.#certainKeys = certainKeys === 'all' ? undefined : new Set(certainKeys)
    this.#seenRequests = new Set()
  }

  apply(entry: LogEntry): readonly DependentWrite[] {
    if (!this.#hasGap) {
      this.engine.replay(entry)
      return []
    }
    const omitted: DependentWrite[] = []
    // The store enforced the original limits on keys that may be missing now, so no limits apply here.
    const limits = { maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }
    for (const command of entry.commands) {
      const singleCommandEntry = (command: EntryCommand): LogEntry => ({
        time: entry.time,
        ...limits,
        commands: [command],
      })
      if (command.type === 'start') this.engine.replay(singleCommandEntry(command))
      else if (command.type === 'load') this.#load(singleCommandEntry(command), command)
      else {
        const why = this.#dependencyOf(command)
        if (why === undefined)
          this.#write(singleCommandEntry({ ...command, owner: withoutLimits(command.owner) }), command)
        else omitted.push({ verb: command.command.verb, key: command.command.key, bytes: command.payload.length, why })
      }
    }
    return omitted
  }

  /**
   * Captures the state, with new versions for keys written after a gap.
   *
   * @param now - wall time, ms
   */
  capture(now: number): State {
    const state = this.engine.capture()
    const clock = new VersionClock()
    clock.advanceTo(state.version)
    const records = Array.from(state.records, record =>
      this.#rewrittenKeys.has(record.id) ? { ...record, version: clock.tick(now) } : record,
    )
    return { ...state, version: clock.last, records }
  }

  #dependencyOf({ command, fencingToken, origin }: LoggedWrite): DependencyReason | undefined {
    if (origin?.dup && !this.#seenRequests.has(requestId(origin))) return 'repeat'
    if (this.#certainKeys === undefined || this.#certainKeys.has(toBinaryString(command.key))) return undefined
    if (command.verb === 'VDEL' || (command.verb === 'SET' && command.condition !== undefined)) return 'condition'
    const isFenced = fencingToken !== undefined || this.engine.peek(command.key)?.fencingToken !== undefined
    return isFenced ? 'fencing-token' : undefined
  }

  #write(entry: LogEntry, { command, origin }: LoggedWrite): void {
    const id = toBinaryString(command.key)
    for (const result of this.engine.apply(entry)) {
      if (result.type !== 'answered' || result.answer.reply.type === 'error') continue
      this.#certainKeys?.add(id)
      this.#rewrittenKeys.add(id)
    }
    if (origin !== undefined) this.#seenRequests.add(requestId(origin))
  }

  #load(entry: LogEntry, { items, replace }: LoggedLoad): void {
    this.engine.replay(entry)
    if (replace) this.#certainKeys = undefined
    for (const { key } of items) {
      const id = toBinaryString(key)
      this.#certainKeys?.add(id)
      this.#rewrittenKeys.add(id)
    }
  }
}

const requestId = ({ clientId, correlationData }: Origin): string => `${clientId}\0${toBinaryString(correlationData)}`

const withoutLimits = (owner: LoggedWrite['owner']): LoggedWrite['owner'] =>
  owner && { ...owner, maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }

const EMPTY: Uint8Array = new Uint8Array(0)

/** Restores a snapshot with missing blocks. */
export class SalvagedState {
  readonly ids = new Set<string>()
  readonly #loader: StateLoader
  #head: StateHead | undefined
  #older: Uint8Array | undefined
  #younger: Uint8Array | undefined
  #isEnded = false
  #lastNumber = 0
  #version: State['version'] | undefined

  constructor(loader: StateLoader) {
    this.#loader = loader
  }

  /** Returns whether the last block was read. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Returns whether all records and replies were restored. */
  get isComplete(): boolean {
    return this.#head?.size === this.ids.size && this.#older !== undefined && this.#younger !== undefined
  }

  addBlock(block: Uint8Array): void {
    const part = decodeBlock(block)
    if (part.kind === 'head') this.#head = part
    else if (part.kind === 'older') this.#older = part.bytes
    else if (part.kind === 'younger') this.#younger = part.bytes
    else if (part.kind === 'end') this.#isEnded = true
    else if (part.kind === 'records') for (const record of part.records) this.#restoreRecord(record)
  }

  /** Restores the engine from the blocks read. Returns which data is missing. */
  resume(): { readonly hasReplies: boolean; readonly lostKeys: number | undefined } {
    const hasReplies = this.#older !== undefined && this.#younger !== undefined
    const version = newest(this.#head?.version, this.#version)
    if (version !== undefined) {
      this.#loader.finishRestore({
        createdAt: this.#head?.createdAt,
        version,
        lastNumber: Math.max(this.#head?.lastNumber ?? 0, this.#lastNumber),
        // A single generation would leave a gap in the remembered replies, so both are kept or none.
        replies: hasReplies ? [this.#older ?? EMPTY, this.#younger ?? EMPTY] : [EMPTY, EMPTY],
      })
    }
    return { hasReplies, lostKeys: this.#head && this.#head.size - this.ids.size }
  }

  #restoreRecord(record: StateRecord): void {
    this.#loader.restoreRecord(record)
    this.ids.add(record.id)
    this.#lastNumber = record.number
    this.#version = newest(this.#version, record.version)
  }
}

const newest = (a: State['version'] | undefined, b: State['version'] | undefined): State['version'] | undefined =>
  a === undefined || (b !== undefined && b.compareTo(a) > 0) ? b : a
