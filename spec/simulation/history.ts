import { Engine, type EntryResult, type KeyChange } from '../../src/server/engine/engine.js'
import type { LogEntry } from '../../src/server/engine/entry.js'
import type { KeyState } from '../judges/convergence.js'

/** A change that the store made. */
export interface RecordedChange {
  readonly key: string
  readonly op: 'set' | 'delete'
  readonly value: string | undefined
  readonly version: string
  /** The number of the store instance, which increases when data is lost. */
  readonly instance: number
  readonly at: number
}

/** All changes of all store instances of a simulation, in order. */
export class History {
  readonly all: RecordedChange[] = []
  readonly #positions = new Map<string, number>()
  readonly #now: () => number
  instance = 0

  /** @param now - the milliseconds since the start, for simulations that need the times of changes */
  constructor(now: () => number = () => 0) {
    this.#now = now
  }

  /** Records a change unless another node has already made it. Returns the position of the change. */
  record({ key, notification, version }: KeyChange): number {
    const name = `${this.instance} ${version}`
    const known = this.#positions.get(name)
    if (known !== undefined) return known
    this.#positions.set(name, this.all.length)
    const value = notification.op === 'set' && notification.value ? text(notification.value) : undefined
    const what = { key: text(key), op: notification.op, value, version: String(version) }
    return this.all.push({ ...what, instance: this.instance, at: this.#now() }) - 1
  }

  /**
   * Returns the positions of the changes of a key with a version. There are several if instances that lost their data
   * reused the version.
   */
  positionsOf(key: string, version: string): number[] {
    const positions: number[] = []
    for (let instance = 0; instance <= this.instance; instance++) {
      const position = this.#positions.get(`${instance} ${version}`)
      if (position !== undefined && this.all[position]?.key === key) positions.push(position)
    }
    return positions
  }

  /** Returns the position of the change with a version in the latest instance that used the version. */
  positionOf(version: string): number | undefined {
    for (let instance = this.instance; instance >= 0; instance--) {
      const position = this.#positions.get(`${instance} ${version}`)
      if (position !== undefined) return position
    }
    return undefined
  }

  between(key: string, from: number, to: number): RecordedChange[] {
    return this.all.slice(from, to).filter(change => change.key === key)
  }
}

/** The shipped engine, whose changes the history records. */
export class RecordedEngine<C> extends Engine<C> {
  readonly #history: History
  readonly #silentExpiry: boolean
  position = 0

  constructor(history: History, silentExpiry: boolean) {
    super()
    this.#history = history
    this.#silentExpiry = silentExpiry
  }

  override *apply(entry: LogEntry): Generator<EntryResult, void> {
    for (const result of super.apply(entry)) {
      for (const change of result.changes) this.position = Math.max(this.position, this.#history.record(change) + 1)
      if (result.type !== 'expired' || !this.#silentExpiry) yield result
    }
  }
}

const decoder = new TextDecoder()
const text = (bytes: Uint8Array): string => decoder.decode(bytes)

export function storedEntry(engine: Pick<Engine<never>, 'peek'>, key: string): KeyState {
  const record = engine.peek(new TextEncoder().encode(key))
  return record ? { op: 'set', value: text(record.value), version: record.version } : { op: 'absent' }
}
