import type { KeyState } from '../../../harness/judges/convergence.js'
import type { History } from '../../../harness/judges/history.js'
import { Engine, type EntryResult } from '../../../src/server/engine/engine.js'
import type { LogEntry } from '../../../src/server/engine/entry.js'

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
      for (const { key, notification, version } of result.changes) {
        const value = notification.op === 'set' && notification.value ? text(notification.value) : undefined
        const change = { key: text(key), op: notification.op, value, version: String(version) }
        this.position = Math.max(this.position, this.#history.record(change) + 1)
      }
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
