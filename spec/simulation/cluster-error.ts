import type { Client } from '../../src/core/mqtt5/peer.js'
import type { Engine } from '../../src/server/engine/engine.js'
import { type LogEntry, parseWriteCommand } from '../../src/server/engine/entry.js'
import { resp3 } from '../support/words.js'

/** Makes an engine behave differently from the others, once in all runs of this engine. */
export function errOnce(engine: Engine<Client>, errors: { made: boolean }): void {
  const right = engine.apply.bind(engine)
  const payload = resp3(['SET', 'key0', 'wrong'])
  const command = parseWriteCommand(payload)
  engine.apply = (entry: LogEntry) => {
    const [first, ...rest] = entry.commands
    if (errors.made || first?.type !== 'write' || command === undefined) return right(entry)
    errors.made = true
    return right({ ...entry, commands: [{ ...first, payload, command }, ...rest] })
  }
}
