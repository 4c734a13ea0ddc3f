import { appendFileSync, writeFileSync } from 'node:fs'
import { recordOf } from '../../chaos/journal.js'
import { recordsOf } from '../../chaos/recorder.js'
import type { Violations } from '../../chaos/violations.js'
import { Hlc } from '../../src/core/hlc/hlc.js'
import { type CommandResult, Engine } from '../../src/server/engine/engine.js'
import type { EntryCommand, LogEntry } from '../../src/server/engine/entry.js'
import { decodeNodeEntry, MessageJudge } from '../../src/server/log/cluster/message-judge.js'

export interface ReplayResult {
  messages: number
  /** the number of writes */
  requests: number
  versions: ReadonlySet<string>
}

export interface ReplayOptions {
  /** a file with one message per line: position, time, bytes in Base64 */
  log: string
  /** the output file: the journal that a single store would have written */
  journal: string
  prefix: string
  /** the monotonic time in milliseconds at which each version first became known to a client */
  answered: ReadonlyMap<string, number>
  /** the wall time at monotonic time 0, in milliseconds */
  epoch: number
  violations: Violations
}

export type LogRecord = readonly [position: number, time: number, base64: string]

const LINES = 1_000

/**
 * Replays the log by the rules of the nodes, and writes the journal that a single store would have written. A change
 * was committed between the time of its message and the first response to any request at or after the change.
 */
export async function replay({
  log,
  journal,
  prefix,
  answered,
  epoch,
  violations,
}: ReplayOptions): Promise<ReplayResult> {
  const noted: { position: number; record: readonly unknown[] | undefined; from: number }[] = []
  /** The latest commit time of each message. */
  const latest: number[] = []
  const versions = new Set<string>()
  const tokens: Map<string, string> = new Map()
  let requests = 0
  const judge = new MessageJudge()
  const engine = new Engine({ onResult: result => judge.digest.addResult(result) })
  for await (const [position, time, text] of recordsOf<LogRecord>(log)) {
    const from = time - epoch - 1
    latest[position] = Number.POSITIVE_INFINITY
    const verdict = judge.judge({ position, time, bytes: new Uint8Array(Buffer.from(text, 'base64')) })
    if (verdict.type === 'foreign') violations.add('audit', `message ${position} is not from a node`)
    if (verdict.type === 'entry') apply(decodeNodeEntry(verdict.body, verdict.time), position, from)
    judge.finishPosition(position)
  }
  writeJournal(journal, noted, latest)
  return { messages: latest.length, requests, versions }

  function apply(entry: LogEntry, position: number, from: number) {
    const writes = entry.commands.filter(({ type }) => type === 'write')
    for (const result of engine.apply(entry)) {
      if (result.type === 'answered') note(writes.shift(), result.answer, position, from)
      if (result.type !== 'expired') continue
      for (const { key } of result.changes) {
        const name = Buffer.from(key).toString()
        if (name.startsWith(prefix)) noted.push({ position, record: ['expired', 0, name], from })
      }
    }
  }

  function note(write: EntryCommand | undefined, answer: CommandResult, position: number, from: number) {
    const { reply, version, repeated: isRepeated = false, changes } = answer
    if (write?.type !== 'write' || write.origin === undefined) return
    requests++
    for (const change of changes) {
      versions.add(String(change.version))
      latest[position] = Math.min(
        latest[position] ?? 0,
        answered.get(String(change.version)) ?? Number.POSITIVE_INFINITY,
      )
    }
    const key = Buffer.from(write.command.key).toString()
    if (changes.length > 0 && version !== undefined) checkToken(key, write.fencingToken)
    if (!key.startsWith(prefix)) return
    const { clientId } = write.origin
    const request = { clientId, payload: write.payload, outcome: reply.type, repeated: isRepeated }
    noted.push({ position, record: recordOf(request, 0), from })
  }

  /** Checks that the tokens of applied writes do not decrease. */
  function checkToken(key: string, text: string | undefined) {
    const before = tokens.get(key)
    if (text === undefined) {
      if (before !== undefined) violations.add('fencing', `${key} was written without a token after ${before}`)
      return
    }
    const isOlder = before !== undefined && Hlc.parse(text).compareTo(Hlc.parse(before)) < 0
    if (isOlder) violations.add('fencing', `${key} was written with the token ${text} after ${before}`)
    tokens.set(key, text)
  }
}

/** @param latest - the latest times by position; the minimum over all later positions applies */
function writeJournal(
  path: string,
  noted: readonly { position: number; record: readonly unknown[] | undefined; from: number }[],
  latest: number[],
) {
  for (let at = latest.length - 2; at >= 0; at--)
    latest[at] = Math.min(latest[at] ?? Number.POSITIVE_INFINITY, latest[at + 1] ?? Number.POSITIVE_INFINITY)
  writeFileSync(path, '')
  for (let begin = 0; begin < noted.length; begin += LINES) {
    const lines = noted.slice(begin, begin + LINES).flatMap(({ position, record, from }) => {
      if (record === undefined) return []
      const [type, , ...rest] = record
      // JSON cannot represent infinity.
      const at = Math.min(latest[position] ?? Number.MAX_VALUE, Number.MAX_VALUE)
      return [`${JSON.stringify([type, at, ...rest, from])}\n`]
    })
    appendFileSync(path, lines.join(''))
  }
}
