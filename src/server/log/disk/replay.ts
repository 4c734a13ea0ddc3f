import { toBinaryString } from '../../../core/util/bytes.js'
import { Engine } from '../../engine/engine.js'
import type { EntryCommand, LogEntry, LoggedLoad, LoggedWrite, Origin } from '../../engine/entry.js'
import type { State, StateLoader, StateRecord } from '../../engine/records.js'
import { VersionClock } from '../../engine/version-clock.js'
import { decodeBlock, type StateHead } from '../state-codec.js'

/**
 * Why a write depends on what is missing: it has a condition, its key may have got a newer fencing token, or it may repeat a
 * write that was done before.
 */
export type Dependence = 'condition' | 'fencing-token' | 'repeat'

/** A write that was read, and left out. */
export interface DependentWrite {
  readonly verb: LoggedWrite['command']['verb']
  readonly key: Uint8Array
  /** Of its request. */
  readonly bytes: number
  readonly why: Dependence
}

/**
 * Applies entries of which some are missing. What comes behind a gap is applied if it comes to the same whatever was in the
 * gap; the rest is left out.
 *
 * After a gap nothing is certain of a key until a write sets or deletes it without a condition. Such a write is taken
 * unless it or its key has a fencing token: tokens are what decides whether a write of a lock's holder counts.
 */
export class Replay {
  readonly engine = new Engine<never>({ maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY })
  #hasGap = false
  /** Keys that are certain since the last gap; `undefined` for all. */
  #certain: Set<string> | undefined
  /** Writes since the last gap, by who sent them. */
  #seen = new Set<string>()
  /** Keys written since the first gap: their versions may have been others. */
  readonly #renewed = new Set<string>()

  /** Something is missing here. @param certain - keys that are known all the same */
  gap(certain: ReadonlySet<string> | 'all' = new Set()): void {
    this.#hasGap = true
    this.#certain = certain === 'all' ? undefined : new Set(certain)
    this.#seen = new Set()
  }

  /** Applies an entry; returns those of its writes that were left out. */
  apply(entry: LogEntry): readonly DependentWrite[] {
    if (!this.#hasGap) {
      this.engine.replay(entry)
      return []
    }
    const leftOut: DependentWrite[] = []
    // Bounds were kept with keys that may be missing now.
    const bounds = { maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }
    for (const command of entry.commands) {
      const one = (command: EntryCommand): LogEntry => ({ time: entry.time, ...bounds, commands: [command] })
      if (command.type === 'start') this.engine.replay(one(command))
      else if (command.type === 'load') this.#load(one(command), command)
      else {
        const why = this.#dependence(command)
        if (why === undefined) this.#write(one({ ...command, owner: unbounded(command.owner) }), command)
        else leftOut.push({ verb: command.command.verb, key: command.command.key, bytes: command.payload.length, why })
      }
    }
    return leftOut
  }

  /** The state, with new versions for keys that were written behind a gap. @param now - wall time, ms */
  capture(now: number): State {
    const state = this.engine.capture()
    const clock = new VersionClock()
    clock.advanceTo(state.version)
    const records = Array.from(state.records, record =>
      this.#renewed.has(record.id) ? { ...record, version: clock.tick(now) } : record,
    )
    return { ...state, version: clock.last, records }
  }

  #dependence({ command, fencingToken, origin }: LoggedWrite): Dependence | undefined {
    if (origin?.dup && !this.#seen.has(nameOf(origin))) return 'repeat'
    if (this.#certain === undefined || this.#certain.has(toBinaryString(command.key))) return undefined
    if (command.verb === 'VDEL' || (command.verb === 'SET' && command.condition !== undefined)) return 'condition'
    const isFenced = fencingToken !== undefined || this.engine.peek(command.key)?.fencingToken !== undefined
    return isFenced ? 'fencing-token' : undefined
  }

  #write(entry: LogEntry, { command, origin }: LoggedWrite): void {
    const id = toBinaryString(command.key)
    for (const result of this.engine.apply(entry)) {
      if (result.type !== 'answered' || result.answer.reply.type === 'error') continue
      this.#certain?.add(id)
      this.#renewed.add(id)
    }
    if (origin !== undefined) this.#seen.add(nameOf(origin))
  }

  #load(entry: LogEntry, { items, replace }: LoggedLoad): void {
    this.engine.replay(entry)
    if (replace) this.#certain = undefined
    for (const { key } of items) {
      const id = toBinaryString(key)
      this.#certain?.add(id)
      this.#renewed.add(id)
    }
  }
}

const nameOf = ({ clientId, correlationData }: Origin): string => `${clientId}\0${toBinaryString(correlationData)}`

const unbounded = (owner: LoggedWrite['owner']): LoggedWrite['owner'] =>
  owner && { ...owner, maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }

const NOTHING: Uint8Array = new Uint8Array(0)

/** Takes the blocks of a snapshot of which some are missing. */
export class SalvagedState {
  /** Of the records that were taken. */
  readonly ids = new Set<string>()
  readonly #taker: StateLoader
  #head: StateHead | undefined
  #older: Uint8Array | undefined
  #younger: Uint8Array | undefined
  #isEnded = false
  #lastNumber = 0
  #version: State['version'] | undefined

  constructor(taker: StateLoader) {
    this.#taker = taker
  }

  /** Returns whether its last block was taken. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Returns whether all records were taken, and all else. */
  get isComplete(): boolean {
    return this.#head?.size === this.ids.size && this.#older !== undefined && this.#younger !== undefined
  }

  take(block: Uint8Array): void {
    const part = decodeBlock(block)
    if (part.kind === 'head') this.#head = part
    else if (part.kind === 'older') this.#older = part.bytes
    else if (part.kind === 'younger') this.#younger = part.bytes
    else if (part.kind === 'end') this.#isEnded = true
    else if (part.kind === 'records') for (const record of part.records) this.#put(record)
  }

  /** Goes on with what was taken; says what is missing. */
  resume(): { readonly hasReplies: boolean; readonly lostKeys: number | undefined } {
    const hasReplies = this.#older !== undefined && this.#younger !== undefined
    const version = newest(this.#head?.version, this.#version)
    if (version !== undefined) {
      this.#taker.finishRestore({
        createdAt: this.#head?.createdAt,
        version,
        lastNumber: Math.max(this.#head?.lastNumber ?? 0, this.#lastNumber),
        // One of the two without the other would forget what came between.
        replies: hasReplies ? [this.#older ?? NOTHING, this.#younger ?? NOTHING] : [NOTHING, NOTHING],
      })
    }
    return { hasReplies, lostKeys: this.#head && this.#head.size - this.ids.size }
  }

  #put(record: StateRecord): void {
    this.#taker.restoreRecord(record)
    this.ids.add(record.id)
    this.#lastNumber = record.number
    this.#version = newest(this.#version, record.version)
  }
}

const newest = (a: State['version'] | undefined, b: State['version'] | undefined): State['version'] | undefined =>
  a === undefined || (b !== undefined && b.compareTo(a) > 0) ? b : a
