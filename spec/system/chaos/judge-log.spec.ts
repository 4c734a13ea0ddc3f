import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { judgeLog } from '../../../chaos/cluster/judge-log.js'
import { type Observation, Recorder } from '../../../chaos/recorder.js'
import type { LogRecord } from '../../../harness/judges/replay.js'
import { Violations } from '../../../harness/judges/violations.js'
import { type Entry, Hlc } from '../../../src/client/index.js'
import { type EntryCommand, parseWriteCommand } from '../../../src/server/engine/entry.js'
import { MessageJudge } from '../../../src/server/log/cluster/message-judge.js'
import { encodeNodeMessage, type NodeMessage } from '../../../src/server/log/cluster/node-message.js'
import { encodeEntry } from '../../../src/server/log/entry-codec.js'
import { START } from '../../support/manual-clock.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { bytes, resp3 } from '../../support/words.js'

const KEY = 'chaos/1'
const [OLD, NEW] = ['c0.0.0.0', 'c0.0.1.0']
/** Returns an entry's version by its second. Entries follow each other at intervals of a second. */
const version = (second: number): string => `${START + second * 1_000}:0:StateStore`

interface Asked {
  readonly client?: string
  readonly token?: string
}

function write(words: readonly string[], { client = 'c0', token }: Asked = {}): EntryCommand {
  const payload = new Uint8Array(resp3(words))
  const command = parseWriteCommand(payload)
  if (command === undefined) throw new Error(`${words.join(' ')} is no write`)
  const origin = { clientId: client, correlationData: bytes(words.join()), dup: false, messageExpiry: undefined }
  return { type: 'write', payload, command, timestamp: `${START}:0:client`, fencingToken: token, origin }
}

const SETS = [write(['SET', KEY, `${OLD}:`]), write(['SET', KEY, `${NEW}:`])]

/** Returns a recorded write of a client, whose version is that of a second. */
const wrote = (value: string, second: number, outcome = 'applied', key = KEY, expires = false): Observation => {
  const known = outcome === 'applied' ? version(second) : undefined
  return { type: 'write', client: 'c0', verb: 'SET', key, value, outcome, version: known, expires, at: 100 }
}
const told = (value: string, second: number): Observation => {
  const circumstances = { connection: 0, connectedAt: 1, isLive: true, isOnlyWatcher: false }
  const entry = { key: KEY, op: 'set', value, version: version(second), source: 'notification' } as const
  return { type: 'entry', watcher: 'c1.0/0', ...circumstances, ...entry }
}

/** The records of a client with two writes and a watch of them. */
const WRITTEN = [wrote(OLD, 1), wrote(NEW, 2)]
const TOLD = [told(OLD, 1), told(NEW, 2)]
const SEEN = [...WRITTEN, ...TOLD]
const HELD = new Map([[KEY, stored(NEW, 2)]])

function stored(value: string, second: number): Entry<string> {
  return {
    key: KEY,
    op: 'set',
    value: `${value}:`,
    version: Hlc.parse(version(second)),
    source: 'snapshot',
  }
}

describe('the judge of several nodes under chaos', () => {
  const directory = temporaryFolder()

  /** Writes a log of one node with these commands, at intervals of a second. */
  function logOf(commands: readonly EntryCommand[]): AsyncIterable<LogRecord> {
    const recorder = new Recorder<LogRecord>(join(directory, 'log.jsonl'))
    const replica = new MessageJudge()
    const entries = [undefined, ...commands]
    for (const [at, command] of entries.entries()) {
      const time = START + at * 1_000
      const room = { time, maxKeys: 100, maxBytes: 1_000_000 }
      const body = command === undefined ? new Uint8Array(0) : encodeEntry({ ...room, commands: [command] })
      const kind = command === undefined ? 'start' : 'entry'
      // The digest is that of a node that has applied nothing yet, as digests are judged elsewhere.
      const { value: digest } = replica.digest
      const place: Pick<NodeMessage, 'appliedPosition' | 'digest'> = { appliedPosition: 0, digest }
      const node = { node: 'a', epoch: 'x', number: at + 1, previousEpoch: '', clientCount: 0 }
      const message = encodeNodeMessage({ kind, ...node, ...place, body })
      recorder.write({ position: at + 1, time, base64: Buffer.from(message).toString('base64') })
    }
    recorder.close()
    return recorder.read()
  }

  async function judged(
    commands: readonly EntryCommand[],
    seen: readonly Observation[],
    held = HELD,
    known = new Map(),
  ) {
    const violations = new Violations()
    const recorder = new Recorder(join(directory, 'seen.jsonl'))
    for (const record of seen) recorder.write(record)
    recorder.close()
    await judgeLog({ recorder, log: logOf(commands), known, stored: held, violations })
    return violations.lines.join('\n')
  }

  it('the judge accepts nodes that keep every guarantee', async () => {
    expect(await judged(SETS, SEEN)).toBe('')
  })

  it('the judge rejects an acknowledged write that is not in the log', async () => {
    const lost = await judged(SETS.slice(0, 1), SEEN.slice(0, 3), new Map([[KEY, stored(OLD, 1)]]))
    expect(lost).toMatch(/acknowledged with version \S+ but is not in the log/)
    expect(lost).toMatch(new RegExp(`write: c0 SET ${KEY} ${NEW} ended as applied, and reached a store 0 times`))
    expect(await judged(SETS, SEEN, HELD, new Map([[version(9), 5]]))).toMatch(/1 x lost/)
  })

  it('the judge rejects an acknowledged write that the nodes do not hold', async () => {
    expect(await judged(SETS, SEEN, new Map([[KEY, stored(OLD, 1)]]))).toMatch(
      /stored: chaos\/1: the last change shows c0.0.1.0/,
    )
  })

  it('the judge rejects a late write that was reported as never applied', async () => {
    const timedOut = [...WRITTEN.slice(0, 1), wrote(NEW, 2, 'timeout')]
    expect(await judged(SETS, timedOut)).toMatch(/ended as timeout, and reached a store 1 times/)
  })

  it('the judge rejects a watch that misses a change, emits a change twice or in another order', async () => {
    const third = write(['SET', KEY, 'c0.0.2.0:'])
    const held = new Map([[KEY, stored('c0.0.2.0', 3)]])
    const [first, second, last] = [told(OLD, 1), told(NEW, 2), told('c0.0.2.0', 3)]
    const of = async (...entries: Observation[]) =>
      judged([...SETS, third], [...WRITTEN, wrote('c0.0.2.0', 3), ...entries], held)
    expect(await of(first, second, last)).toBe('')
    expect(await of(first, last)).toMatch(/1 earlier changes were not emitted/)
    expect(await of(first, first)).toMatch(/not newer/)
    expect(await of(second, first)).toMatch(/not newer/)
  })

  it('the judge accepts late writes only if their outcome was unknown', async () => {
    const [late, before] = [SETS[1], SETS[0]].map(set => set ?? write([]))
    const found = new Map([[KEY, stored(OLD, 2)]])
    const commands = [late, before].filter(command => command !== undefined)
    expect(await judged(commands, [wrote(NEW, 1), wrote(OLD, 2, 'outcome-unknown')], found)).toBe('')
    expect(await judged(commands, [wrote(NEW, 1), wrote(OLD, 2)], found)).toMatch(/order of writes/)
  })

  it('the judge knows when a key has expired', async () => {
    const short = write(['SET', KEY, `${OLD}:`, 'PX', '500'])
    const next = write(['SET', 'chaos/2', `${NEW}:`])
    const gone: Entry<string> = {
      key: KEY,
      op: 'absent',
      value: undefined,
      version: undefined,
      source: 'snapshot',
      reason: 'unknown',
    }
    const seen = [wrote(OLD, 1, 'applied', KEY, true), wrote(NEW, 2, 'outcome-unknown', 'chaos/2')]
    expect(await judged([short, next], seen, new Map([[KEY, gone]]))).toBe('')
    expect(await judged([short, next], seen, new Map([[KEY, stored(OLD, 1)]]))).toMatch(/the last change shows nothing/)
  })
})
