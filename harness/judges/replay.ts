import { Hlc } from '../../src/core/hlc/hlc.js'
import type { CommandResult } from '../../src/server/engine/command-result.js'
import { Engine, type KeyChange } from '../../src/server/engine/engine.js'
import type { EntryCommand } from '../../src/server/engine/entry.js'
import { decodeNodeEntry, MessageJudge } from '../../src/server/log/cluster/message-judge.js'
import { isRecorded, type JournalLine, toJournalledWrite } from './journal.js'
import type { Violations } from './violations.js'

/** A message of a shared log. */
export interface LogRecord {
  readonly position: number
  /** ms since the Unix epoch */
  readonly time: number
  readonly base64: string
}

export interface ReplayOptions {
  /** The monotonic time in ms at which each version first became known to a client. */
  readonly answered: ReadonlyMap<string, number>
  /** The wall time in ms at monotonic time 0. */
  readonly epoch: number
  readonly violations: Violations
}

export interface ReplayResult {
  readonly messages: number
  /** The number of writes. */
  readonly requests: number
  readonly versions: ReadonlySet<string>
  /** The journal that a single store would have written. */
  readonly journal: readonly JournalLine[]
}

interface ReplayedLine {
  readonly position: number
  readonly line: JournalLine
}

/**
 * Replays a shared log by the rules of the nodes. A change was committed between the time of its message and the first
 * response to any request at or after the change.
 */
export async function replay(
  log: AsyncIterable<LogRecord>,
  { answered, epoch, violations }: ReplayOptions,
): Promise<ReplayResult> {
  const lines: ReplayedLine[] = []
  /** The first response to a request of each message. */
  const responses: number[] = []
  const versions = new Set<string>()
  const tokens = new FencingTokens(violations)
  let requests = 0
  const judge = new MessageJudge()
  const engine = new Engine({ onResult: result => judge.digest.addResult(result) })
  for await (const { position, time, base64 } of log) {
    const earliest = time - epoch - 1
    responses[position] = Number.POSITIVE_INFINITY
    const verdict = judge.judge({ position, time, bytes: new Uint8Array(Buffer.from(base64, 'base64')) })
    if (verdict.type === 'foreign') violations.add('audit', `message ${position} is not from a node`)
    if (verdict.type === 'entry') {
      const entry = decodeNodeEntry(verdict.body, verdict.time)
      const writes = entry.commands.filter(({ type }) => type === 'write')
      for (const result of engine.apply(entry)) {
        const add = (line: JournalLine | undefined) => line && lines.push({ position, line })
        if (result.type === 'answered') add(recordWrite(writes.shift(), result.answer, position, earliest))
        for (const change of result.changes)
          add(endOf(change, result.type === 'expired' ? 'expired' : 'deleted', entry.time))
      }
    }
    judge.finishPosition(position)
  }
  return { messages: responses.length, requests, versions, journal: withLatestTimes(lines, responses) }

  function recordWrite(write: EntryCommand | undefined, answer: CommandResult, position: number, earliest: number) {
    if (write?.type !== 'write' || write.origin === undefined) return undefined
    const { reply, version, repeated = false, changes } = answer
    requests++
    for (const change of changes) {
      versions.add(String(change.version))
      const response = answered.get(String(change.version))
      responses[position] = Math.min(responses[position] ?? Infinity, response ?? Infinity)
    }
    const key = Buffer.from(write.command.key).toString()
    if (changes.length > 0 && version !== undefined) tokens.check(key, write.fencingToken)
    if (!isRecorded(key)) return undefined
    const request = { clientId: write.origin.clientId, payload: write.payload, outcome: reply.type, repeated }
    const line = toJournalledWrite(request, 0, () => ({
      version: String(version),
      expiresAt: engine.peek(write.command.key)?.expiresAt,
    }))
    return line && { ...line, earliest }
  }

  function endOf({ key, notification, version }: KeyChange, type: 'deleted' | 'expired', time: number) {
    const name = Buffer.from(key).toString()
    if (notification.op === 'set' || !isRecorded(name)) return undefined
    return { type, at: 0, earliest: time - epoch - 1, time, key: name, version: String(version) }
  }
}

/** Checks that the tokens of applied writes do not decrease. */
class FencingTokens {
  readonly #newest = new Map<string, string>()
  readonly #violations: Violations

  constructor(violations: Violations) {
    this.#violations = violations
  }

  check(key: string, token: string | undefined): void {
    const before = this.#newest.get(key)
    const isOlder = before !== undefined && (token === undefined || Hlc.parse(token).compareTo(Hlc.parse(before)) < 0)
    if (isOlder) this.#violations.add('fencing', `${key} was written with the token ${token} after ${before}`)
    if (token !== undefined) this.#newest.set(key, token)
  }
}

/** Sets the latest time of each line, which is that of the first response to a request at or after its message. */
function withLatestTimes(lines: readonly ReplayedLine[], responses: number[]): JournalLine[] {
  for (let position = responses.length - 2; position >= 0; position--)
    responses[position] = Math.min(responses[position] ?? Infinity, responses[position + 1] ?? Infinity)
  return lines.map(({ position, line }) => ({ ...line, at: responses[position] ?? Infinity }))
}
