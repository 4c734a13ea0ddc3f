import type { Hlc } from '../../../src/core/hlc/hlc.js'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { encodeReply } from '../../../src/core/protocol/replies.js'
import type { StoredRecord } from '../../../src/server/engine/apply.js'
import type { CommandResult, KeyChange } from '../../../src/server/engine/command-result.js'
import { Engine } from '../../../src/server/engine/engine.js'
import type { EntryCommand, LogEntry } from '../../../src/server/engine/entry.js'
import { decodeNodeEntry, MessageJudge } from '../../../src/server/log/cluster/message-judge.js'
import type { StreamMessage } from '../../../src/server/log/cluster/stream.js'
import { textOf } from '../../support/words.js'

export interface KeyState {
  readonly version: Hlc | undefined
  readonly value: string | undefined
  /** The expiry in milliseconds since the Unix epoch. */
  readonly expiresAt: number | undefined
  /** The request that caused the change, or `undefined` for an expiry. */
  readonly operation: number | undefined
  readonly time: number
}

export interface Outcome {
  readonly reply: string
  readonly version: string | undefined
  readonly index: number
  readonly hasChanged: boolean
}

interface ExpectedState {
  readonly digest: number
  readonly state: string
  readonly shared: string
}

const ABSENT: KeyState = { version: undefined, value: undefined, expiresAt: undefined, operation: undefined, time: 0 }
const NO_KEY = { command: { verb: 'GET', key: new TextEncoder().encode('nobody-writes-it') } } as const

export const lastVersion = <C>(engine: Engine<C>, connection: C): Hlc | undefined =>
  engine.query(NO_KEY, connection, 0).position

const texts = new WeakMap<StoredRecord, string>()

function textOfRecord(record: StoredRecord): string {
  const known = texts.get(record)
  if (known !== undefined) return known
  const { value, version, fencingToken, expiresAt } = record
  const text = `${textOf(value)} ${version} ${fencingToken} ${expiresAt}`
  texts.set(record, text)
  return text
}

/** Returns the state of an engine and the time in comparable form. */
function expectedStateOf(replica: MessageJudge, engine: Engine<never> | Engine<Client>): string {
  const records = Array.from(engine.records(), ([key, record]) => `${textOf(key)} ${textOfRecord(record)}`)
  return `${replica.time} ${records.sort().join(', ')}`
}

/**
 * The expected outcome of the stream: the shipped replica and engine, applied to every committed message without
 * failures. Nodes and replies are compared with this outcome.
 */
export class ClusterHistory {
  readonly violations: string[] = []
  /** A key's states in order, beginning with its absence. */
  readonly keys = new Map<string, KeyState[]>()
  readonly outcomes = new Map<number, Outcome>()
  readonly replica = new MessageJudge()
  readonly engine: Engine<never>
  readonly #expected: ExpectedState[] = []
  #isStopped = false

  constructor() {
    this.engine = new Engine<never>({ onResult: result => this.replica.digest.addResult(result) })
    this.#recordState()
  }

  addMessage(message: StreamMessage): void {
    if (this.#isStopped) return
    try {
      const judged = this.replica.judge(message)
      if (judged.type === 'entry') this.#apply(decodeNodeEntry(judged.body, judged.time))
    } catch (error) {
      // Nodes also detect this message. Everything after it cannot be checked.
      this.violations.push(`the stream has a message that no node can apply: ${String(error)}`)
      this.#isStopped = true
      return
    }
    this.replica.finishPosition(message.position)
    this.#recordState()
  }

  difference(replica: MessageJudge, engine: Engine<never> | Engine<Client>): string | undefined {
    if (this.#isStopped) return undefined
    const expected = this.#expected[replica.position]
    if (expected === undefined) return 'is ahead of the stream'
    const state = expectedStateOf(replica, engine)
    if (state !== expected.state) return `has another state: shows ${state}, not ${expected.state}`
    return replica.digest.value === expected.digest ? undefined : 'has another digest'
  }

  hasEqualSharedState(replica: MessageJudge): boolean {
    const expected = this.#expected[replica.position]
    return this.#isStopped || expected === undefined || expected.shared === textOf(replica.encode())
  }

  statesOf(key: string): KeyState[] {
    let states = this.keys.get(key)
    if (states === undefined) {
      states = [ABSENT]
      this.keys.set(key, states)
    }
    return states
  }

  /** Returns the number of changes of a key up to a version. */
  indexAt(key: string, version: Hlc): number {
    const states = this.statesOf(key)
    let index = states.length - 1
    for (; index > 0; index--) if ((states[index]?.version?.compareTo(version) ?? 0) <= 0) return index
    return 0
  }

  #recordState(): void {
    const { replica, engine } = this
    const shared = textOf(replica.encode())
    this.#expected.push({ digest: replica.digest.value, state: expectedStateOf(replica, engine), shared })
  }

  #apply(entry: LogEntry): void {
    const writes = entry.commands.filter(({ type }) => type === 'write')
    for (const result of this.engine.apply(entry)) {
      if (result.type === 'expired') this.#recordChanges(result.changes, undefined, entry.time)
      if (result.type === 'answered') this.#recordOutcome(writes.shift(), entry.time, result.answer)
    }
  }

  #recordOutcome(write: EntryCommand | undefined, time: number, { reply, version, changes }: CommandResult): void {
    if (write?.type !== 'write' || write.origin === undefined) return
    const operation = Number(textOf(write.origin.correlationData))
    this.#recordChanges(changes, operation, time)
    const index = this.statesOf(textOf(write.command.key)).length - 1
    if (this.outcomes.has(operation)) this.violations.push(`request ${operation} took effect twice`)
    const hasChanged = changes.length > 0
    const text = textOf(encodeReply(reply))
    this.outcomes.set(operation, { reply: text, version: version && String(version), index, hasChanged })
  }

  #recordChanges(changes: readonly KeyChange[], operation: number | undefined, time: number): void {
    for (const { key, notification, version } of changes) {
      const states = this.statesOf(textOf(key))
      const before = states.at(-1)
      const isEarly = before?.expiresAt === undefined || before.expiresAt > time
      if (operation === undefined && isEarly) this.violations.push(`a key expired early`)
      const value = notification.op === 'set' && notification.value ? textOf(notification.value) : undefined
      const expiresAt = value === undefined ? undefined : this.engine.peek(key)?.expiresAt
      states.push({ version, value, expiresAt, operation, time })
    }
  }
}
