import { describe, expect, it } from 'vitest'
import { encodeReply } from '../../../src/core/protocol/replies.js'
import { Engine, type EntryResult, MAX_EXPIRED_PER_ENTRY } from '../../../src/server/engine/engine.js'
import { parseWriteCommand } from '../../../src/server/engine/entry.js'
import { MemoryLog } from '../../../src/server/log/log.js'
import { encodeState, StateDecoder } from '../../../src/server/log/state-codec.js'
import { CommitLoop } from '../../../src/server/service/commit-loop.js'
import { handle } from '../../support/engine-requests.js'
import { ManualClock, START } from '../../support/manual-clock.js'
import { bytes, command, textOf } from '../../support/words.js'

const BATCHES = 5
const KEYS = BATCHES * MAX_EXPIRED_PER_ENTRY
const EXPIRY = START + 1_000

/** Opens an engine with many keys that expire together. */
function openEngine(): Engine<string> {
  const engine = new Engine<string>()
  for (let i = 0; i < KEYS; i++)
    handle(engine, { payload: command(`SET key${i} v PX 1000`), timestamp: `${START}:0:c` }, 'client', START)
  return engine
}

/** Applies an entry, as the commit loop appends it. */
function apply(engine: Engine<string>, time: number, ...lines: string[]): EntryResult[] {
  const commands = lines.map(line => {
    const payload = command(line)
    const write = parseWriteCommand(payload) ?? expect.fail('no write')
    return { type: 'write', payload, command: write, origin: undefined, timestamp: `${time}:0:c` } as const
  })
  return [...engine.apply({ time, ...engine.limits, maxExpired: engine.maxExpired(time), commands })]
}

const read = (engine: Engine<string>, line: string, now: number): string => {
  const { reply } = handleRead(engine, line, now)
  return textOf(encodeReply(reply))
}

const handleRead = (engine: Engine<string>, line: string, now: number) => {
  const verb = line.startsWith('SCAN') ? 'SCAN' : 'GET'
  const name = line.slice(verb.length + 1)
  return verb === 'SCAN'
    ? engine.query({ command: { verb, glob: bytes(name), token: undefined } }, 'client', now)
    : engine.query({ command: { verb, key: bytes(name) } }, 'client', now)
}

const keysOf = (results: readonly EntryResult[]): string[] =>
  results.flatMap(({ changes }) => changes.map(({ key }) => textOf(key)))

const lastKey = `key${KEYS - 1}`
const ABSENT = textOf(encodeReply({ type: 'absent' }))

describe('thousands of keys that expire together', () => {
  it('one entry removes a bounded number of them, in the order of their creation', () => {
    const engine = openEngine()
    const batches = [0, 1, 2, 3, 4, 5].map(ms => keysOf(apply(engine, EXPIRY + ms)))
    expect(batches.map(({ length }) => length)).toEqual([...Array(BATCHES).fill(MAX_EXPIRED_PER_ENTRY), 0])
    expect(batches.flat()).toEqual(Array.from({ length: KEYS }, (_, i) => `key${i}`))
    expect([engine.size, engine.expiredUntil]).toEqual([0, Number.NEGATIVE_INFINITY])
  })

  it('a key that is not removed yet is absent for every read, even if the clock is set back', () => {
    const engine = openEngine()
    apply(engine, EXPIRY)
    for (const now of [EXPIRY, START]) {
      apply(engine, now, 'SET other v')
      expect(engine.size).toBeGreaterThan(1)
      expect(read(engine, `GET ${lastKey}`, now)).toBe(ABSENT)
      expect(engine.peek(bytes(lastKey))).toBeUndefined()
      expect(handleRead(engine, 'SCAN *', now).reply).toMatchObject({
        keys: [bytes('other')].map(each => new Uint8Array(each)),
      })
      expect(Array.from(engine.records(), ([key]) => textOf(key))).toEqual(['other'])
    }
  })

  it('a write to a key that is not removed yet follows the notification of its expiry', () => {
    const engine = openEngine()
    apply(engine, EXPIRY)
    const results = apply(engine, EXPIRY, `SET ${lastKey} w NX`)
    const changes = results.flatMap(result => result.changes).filter(({ key }) => textOf(key) === lastKey)
    expect(changes).toMatchObject([{ isExpired: true }, { notification: { op: 'set' }, isNew: true }])
    expect(changes[0]?.version.compareTo(changes[1]?.version ?? expect.fail())).toBeLessThan(0)
    expect(textOf(engine.peek(bytes(lastKey))?.value ?? bytes(''))).toBe('w')
  })

  it('a state captured between two batches continues like the engine that it was captured from', () => {
    const engine = openEngine()
    apply(engine, EXPIRY)
    const copy = new Engine<string>()
    const decoder = new StateDecoder(copy.stateLoader)
    for (const block of encodeState(engine.capture())) decoder.addBlock(block)
    expect(read(copy, `GET ${lastKey}`, START)).toBe(ABSENT)
    const versionsOf = (each: Engine<string>) =>
      apply(each, START, 'SET a v', `DEL ${lastKey}`).flatMap(({ changes }) =>
        changes.map(({ key, version }) => `${textOf(key)} ${version}`),
      )
    expect(versionsOf(copy)).toEqual(versionsOf(engine))
  })

  it('the commit loop removes them in several timers, between which other requests are processed', () => {
    const engine = openEngine()
    const clock = new ManualClock()
    const batches: number[] = []
    const loop = new CommitLoop({
      log: new MemoryLog(),
      engine,
      clock,
      host: {
        onChanges: changes => void batches.push(changes.length),
        onDrift: () => undefined,
        onLogHealth: () => undefined,
        onError: error => expect.fail(String(error)),
      },
    })
    loop.expiry.resume()
    clock.advance(2_000)
    expect(batches).toEqual(Array(BATCHES).fill(MAX_EXPIRED_PER_ENTRY))
    expect(clock.scheduled).toBe(BATCHES)
  })
})
