import { isWrite, parseCommand } from '../../src/core/protocol/parse-command.js'
import { errorResult, type RawClocks } from '../../src/server/engine/command-result.js'
import type { CommandResult, Engine, KeyChange, RestoreResult } from '../../src/server/engine/engine.js'
import type { RestoredRecord } from '../../src/server/engine/entry.js'

/** A request as it arrives, before it is decoded. */
export interface RawRequest extends RawClocks {
  readonly payload: Uint8Array
}

/** Processes a request like a store whose log commits immediately. Expires keys first. */
export function handle<C>(engine: Engine<C>, raw: RawRequest, connection: C, now: number): CommandResult {
  const expired = expire(engine, now)
  const answer = answerOf(engine, raw, connection, now)
  return { ...answer, changes: [...expired, ...answer.changes] }
}

function answerOf<C>(engine: Engine<C>, raw: RawRequest, connection: C, now: number): CommandResult {
  try {
    const command = parseCommand(raw.payload)
    if (!isWrite(command)) return engine.query({ ...raw, command }, connection, now)
    const write = { ...raw, type: 'write', origin: undefined, command } as const
    for (const result of engine.apply({ time: now, ...engine.limits, commands: [write] }))
      if (result.type === 'answered') return result.answer
    throw new Error('an entry with a write has an answer')
  } catch (error) {
    return errorResult(error)
  }
}

/** Deletes expired keys. */
export function expire<C>(engine: Engine<C>, now: number): KeyChange[] {
  return Array.from(engine.apply({ time: now, ...engine.limits, commands: [] })).flatMap(({ changes }) => changes)
}

/** Loads a dump's records. Throws the rejection. */
export function restore<C>(
  engine: Engine<C>,
  items: Iterable<RestoredRecord>,
  now: number,
  replace = false,
): RestoreResult {
  const load = { type: 'load', items: Array.from(items), replace } as const
  for (const result of engine.apply({ time: now, ...engine.limits, commands: [load] })) {
    if (result.type !== 'loaded') continue
    if (result.outcome instanceof Error) throw result.outcome
    return result.outcome
  }
  throw new Error('an entry with a load has an outcome')
}
