import type { RawRequest } from '../../src/server/engine/answer.js'
import type { Answer, Applier, Change, Engine, Restoration } from '../../src/server/engine/engine.js'
import { type Restored, writeCommandOf } from '../../src/server/engine/entry.js'

const IGNORE: Applier = { expired: () => undefined, answered: () => undefined, loaded: () => undefined }

/** Answers a request at once, as a store does whose log commits at once; with what expired before it. */
export function handle<C>(engine: Engine<C>, raw: RawRequest, connection: C, now: number): Answer {
  const expired = expire(engine, now)
  const command = writeCommandOf(raw.payload)
  if (command === undefined) {
    const answer = engine.ask(raw, connection, now)
    return { ...answer, changes: expired }
  }
  let answer: Answer | undefined
  const write = { ...raw, type: 'write', origin: undefined, command } as const
  engine.apply(
    { time: now, ...engine.room, commands: [write] },
    {
      ...IGNORE,
      answered: (_, given) => {
        answer = given
      },
    },
  )
  if (answer === undefined) throw new Error('an entry with a write has an answer')
  return { ...answer, changes: [...expired, ...answer.changes] }
}

/** Deletes what is due. */
export function expire<C>(engine: Engine<C>, now: number): Change[] {
  const expired: Change[] = []
  engine.apply(
    { time: now, ...engine.room, commands: [] },
    { ...IGNORE, expired: changes => void expired.push(...changes) },
  )
  return expired
}

/** Loads records of a dump; raises what they are refused with. */
export function restore<C>(engine: Engine<C>, items: Iterable<Restored>, now: number, replace = false): Restoration {
  let outcome: Restoration | Error | undefined
  engine.apply(
    { time: now, ...engine.room, commands: [{ type: 'load', items: Array.from(items), replace }] },
    {
      ...IGNORE,
      loaded: (_, given) => {
        outcome = given
      },
    },
  )
  if (outcome === undefined || outcome instanceof Error) throw outcome
  return outcome
}
