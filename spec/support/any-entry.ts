import fc from 'fast-check'
import { Hlc } from '../../src/core/hlc/hlc.js'
import type { EntryCommand, LogEntry, LoggedWrite, RestoredRecord } from '../../src/server/engine/entry.js'
import { parseWriteCommand } from '../../src/server/engine/entry.js'
import { START } from './manual-clock.js'
import { bytes, resp3 } from './words.js'

const plain = (text: string): Uint8Array => new Uint8Array(bytes(text))
const key = fc.constantFrom('a', 'b', 'c', '\x00', 'x'.repeat(20_000))
const value = fc.constantFrom('', 'x', 'y', '\xff'.repeat(300))
const words = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        key,
        value,
        fc.constantFrom([], ['NX'], ['NEX'], ['NEX', 'x'], ['IFVER', '1:0:a']),
        fc.constantFrom([], [], ['PX', '5'], ['PX', '50']),
      )
      .map(([k, v, condition, px]) => ['SET', k, v, ...condition, ...px]),
  },
  { weight: 1, arbitrary: key.map(k => ['DEL', k]) },
  { weight: 1, arbitrary: fc.tuple(key, value).map(([k, v]) => ['VDEL', k, v]) },
)
const clock = fc
  .tuple(fc.constantFrom(0, 0, -500, 59_000, 90_000), fc.constantFrom(0, 7), fc.constantFrom('client', 'StateStore'))
  .map(([ahead, counter, node]) => `${START + ahead}:${counter}:${node}`)
const origin = fc.record({
  clientId: fc.constantFrom('alice', 'bob'),
  correlationData: fc.constantFrom('1', '2', '3', '').map(plain),
  dup: fc.boolean(),
  messageExpiry: fc.constantFrom(undefined, 1, 10),
})
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })
const owner = fc.record({
  id: fc.constantFrom('is alice', 'at 192.0.2.1'),
  maxKeys: fc.constantFrom(1, 1_000),
  maxBytes: fc.constantFrom(1_500, 1_000_000),
})
const flag = fc.constantFrom(true as const, undefined, undefined)

const write: fc.Arbitrary<LoggedWrite> = fc
  .record({
    words,
    timestamp: optional(clock),
    fencingToken: optional(clock),
    origin: optional(origin),
    volatile: flag,
    owner: optional(owner),
  })
  .map(({ words, ...rest }) => {
    const payload = new Uint8Array(resp3(words))
    const command = parseWriteCommand(payload)
    if (command === undefined) throw new Error('these are words of a write')
    return { type: 'write', payload, command, ...rest }
  })

const restored: fc.Arbitrary<RestoredRecord> = fc.record({
  key: key.map(plain),
  value: value.map(plain),
  version: optional(clock.map(Hlc.parse)),
  fencingToken: optional(clock.map(Hlc.parse)),
  expiresAt: optional(fc.constantFrom(START - 1, START + 40)),
  volatile: flag,
})

const command: fc.Arbitrary<EntryCommand> = fc.oneof(
  { weight: 12, arbitrary: write },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('load'), items: fc.array(restored), replace: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ type: 'start' } as const) },
)

/** Generates loggable entries at any time near the start. The clock of successive entries may go back. */
export const anyEntry: fc.Arbitrary<LogEntry> = fc.record({
  time: fc.nat(200).map(ms => START + ms),
  maxKeys: fc.constantFrom(2, 1_000),
  maxBytes: fc.constantFrom(3_000, 1_000_000),
  maxExpired: fc.constantFrom(undefined, undefined, 0, 1),
  commands: fc.array(command, { maxLength: 6 }),
})
