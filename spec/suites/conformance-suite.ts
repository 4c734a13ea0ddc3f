import { describe, expect, it } from 'vitest'
import { parseCommand } from '../../src/core/protocol/parse-command.js'
import type { Dialect } from '../../src/core/protocol/replies.js'
import type {
  Bounds,
  ClientName,
  ClockValue,
  Notifications,
  NotifiedChange,
  RequestStep,
  ScanStep,
  Step,
  TimeStep,
} from '../cases/case.js'
import { CONFORMANCE } from '../cases/conformance.js'
import { ManualClock, START } from '../support/manual-clock.js'
import { isNewer, partsOf } from '../support/version.js'
import { bytes, command, resp3, textOf } from '../support/words.js'

export interface SentRequest {
  readonly payload: Buffer
  readonly timestamp: string | undefined
  readonly fencingToken: string | undefined
}

/** A received notification. Each character of its texts represents one byte. */
export interface Telling {
  readonly key: string
  readonly payload: string
  readonly version: string | undefined
  /** The reason why a key is absent. */
  readonly reason: string | undefined
}

/** A new, empty store with some clients. */
export interface Target {
  send(client: ClientName, request: SentRequest): Promise<{ payload: Uint8Array; version: string | undefined }>
  advance(ms: number): void
  /** Returns the notifications of a client since the previous call. */
  told(client: ClientName): Promise<readonly Telling[]>
}

export interface TargetOptions {
  readonly clock: ManualClock
  readonly clients: readonly ClientName[]
  readonly bounds: Bounds
}

/** Runs every case against a new store. @param but - the names of cases to skip */
export function conformanceSuite(
  title: string,
  dialect: Dialect,
  open: (options: TargetOptions) => Promise<Target>,
  but: readonly string[] = [],
) {
  describe(title, () => {
    for (const [section, cases] of Object.entries(CONFORMANCE)) {
      describe(section, () => {
        for (const [name, one] of Object.entries(cases)) {
          const { steps, bounds } = 'steps' in one ? one : { steps: one, bounds: {} }
          if (!but.includes(name)) it(name, async () => new Run(steps, bounds, dialect).against(open))
        }
      })
    }
  })
}

class Run {
  readonly #steps: readonly Step[]
  readonly #bounds: Bounds
  readonly #dialect: Dialect
  readonly #clock = new ManualClock(START)
  readonly #clients: readonly ClientName[]
  /** The versions by the name of their step. */
  readonly #named = new Map<string, string>()
  #newest = '0:0:'

  constructor(steps: readonly Step[], bounds: Bounds, dialect: Dialect) {
    this.#steps = steps
    this.#bounds = bounds
    this.#dialect = dialect
    this.#clients = clientsOf(steps)
  }

  async against(open: (options: TargetOptions) => Promise<Target>): Promise<void> {
    const target = await open({ clock: this.#clock, clients: this.#clients, bounds: this.#bounds })
    for (const [index, step] of this.#steps.entries()) {
      await this.#step(target, step, `step ${index + 1}: ${JSON.stringify(step).slice(0, 120)}`)
    }
  }

  async #step(target: Target, step: Step, label: string): Promise<void> {
    if ('send' in step) await this.#request(target, step, label)
    else if ('scan' in step) await this.#scan(target, step, label)
    else await this.#time(target, step, label)
  }

  async #scan(target: Target, step: ScanStep, label: string): Promise<void> {
    const { from = 'alice', mayFind = [], meanwhile = [] } = step
    const found: string[] = []
    let token: string | undefined
    do {
      const payload = resp3(['SCAN', step.scan, ...(token === undefined ? [] : [token])])
      const timestamp = `${this.#clock.now()}:0:${from}`
      const response = await target.send(from, { payload, timestamp, fencingToken: undefined })
      expect(response.version, label).toBeUndefined()
      const page = pageOf(textOf(response.payload))
      if (token === undefined && meanwhile.length > 0) expect(page.token, `${label}: a token`).toBeDefined()
      if (token === undefined) for (const next of meanwhile) await this.#step(target, next, `${label}, meanwhile`)
      found.push(...page.keys)
      token = page.token
    } while (token !== undefined)
    expect(found.filter(key => !mayFind.includes(key)).sort(), label).toEqual([...step.finds].sort())
    expect(new Set(found).size, `${label}: each once`).toBe(found.length)
  }

  async #request(target: Target, step: RequestStep, label: string): Promise<void> {
    const { from = 'alice', ts = 0 } = step
    const timestamp = this.#clockValue(ts, this.#clock.now(), from)
    const fencingToken = this.#clockValue(step.ft ?? null, START, 'lock')
    const response = await target.send(from, { payload: payloadOf(step.send), timestamp, fencingToken })
    expect(textOf(response.payload), label).toBe(this.#spelled(step))
    this.#checkVersion(step, response.version, timestamp, label)
    await this.#checkTold(
      target,
      step.told ?? {},
      { label, reason: 'deleted' },
      version => version === response.version,
    )
  }

  async #time(target: Target, step: TimeStep, label: string): Promise<void> {
    if ('jump' in step) this.#clock.jump(step.jump)
    else target.advance(step.advance)
    const before = this.#newest
    await this.#checkTold(target, step.told ?? {}, { label, reason: 'expired' }, version => {
      expect(partsOf(version).node, label).toBe('StateStore')
      if (isNewer(version, this.#newest)) this.#newest = version
      return isNewer(version, before)
    })
  }

  #checkVersion(step: RequestStep, version: string | undefined, timestamp: string | undefined, label: string): void {
    if (step.version === 'none') {
      expect(version, label).toBeUndefined()
    } else if (step.version.startsWith('same as ')) {
      expect(version, label).toBe(this.#versionOf(step.version.slice('same as '.length)))
    } else {
      const got = version ?? expect.fail(`${label}: the response has no version`)
      if (step.version !== 'new') expect(got, label).toBe(step.version)
      expect(partsOf(got).node, label).toBe('StateStore')
      expect(isNewer(got, this.#newest), `${label}: ${got} is newer than ${this.#newest}`).toBe(true)
      if (timestamp !== undefined)
        expect(isNewer(got, timestamp), `${label}: ${got} is newer than ${timestamp}`).toBe(true)
      this.#newest = got
      if (step.as !== undefined) this.#named.set(step.as, got)
    }
  }

  async #checkTold(
    target: Target,
    expected: Notifications,
    { label, reason }: { readonly label: string; readonly reason: 'deleted' | 'expired' },
    fits: (version: string) => boolean,
  ): Promise<void> {
    const tellings = await Promise.all(this.#clients.map(async client => target.told(client)))
    for (const [index, client] of this.#clients.entries()) {
      const told = tellings[index] ?? []
      const changes = expected[client] ?? []
      expect(
        told.map(({ key, payload, reason }) => ({ key, payload, reason })),
        `${label}: notifications of ${client}`,
      ).toEqual(
        changes.map(change => ({
          key: keyOf(change),
          payload: textOf(this.#notification(change)),
          reason: 'delete' in change ? reason : undefined,
        })),
      )
      const versions = told.map(({ version }) => version ?? expect.fail(`${label}: a notification has no version`))
      for (const [i, version] of versions.entries()) {
        expect(fits(version), `${label}: ${client} is notified of version ${version}`).toBe(true)
        const previous = versions[i - 1]
        if (previous !== undefined)
          expect(isNewer(version, previous), `${label}: ${version} after ${previous}`).toBe(true)
      }
    }
  }

  #clockValue(value: ClockValue, origin: number, node: string): string | undefined {
    if (value === null) return undefined
    if (typeof value === 'number') return `${origin + value}:0:${node}`
    return value.startsWith('version of ') ? this.#versionOf(value.slice('version of '.length)) : value
  }

  #versionOf(step: string): string {
    return this.#named.get(step) ?? expect.fail(`No step before is called ${step}`)
  }

  /** Converts a reply to the documented dialect, which differs in only three spellings. */
  #spelled({ reply, send }: RequestStep): string {
    if (this.#dialect === 'field') return reply
    if (reply === ':-1\r\n') return '-1\r\n'
    return isWatch(payloadOf(send)) ? reply.replace(/^-ERR /, '-ERR: ') : reply
  }

  #notification(change: NotifiedChange): Buffer {
    if ('set' in change) return resp3(['NOTIFY', 'SET', 'VALUE', change.set[1]])
    return resp3(['NOTIFY', this.#dialect === 'field' ? 'DELETE' : 'DEL'])
  }
}

/** Returns whether a payload is a well-formed KEYNOTIFY. */
export function isWatch(payload: Uint8Array): boolean {
  try {
    return parseCommand(payload).verb === 'KEYNOTIFY'
  } catch {
    return false
  }
}

const keyOf = (change: NotifiedChange): string => ('set' in change ? change.set[0] : change.delete)

function payloadOf(send: RequestStep['send']): Buffer {
  if (typeof send === 'string') return command(send)
  return 'payload' in send ? bytes(send.payload) : resp3(send)
}

/** Decodes a page of a scan without the code under test. */
function pageOf(reply: string): { readonly keys: readonly string[]; readonly token: string | undefined } {
  let rest = reply
  const read = (type: string): number => {
    const end = rest.indexOf('\r\n')
    expect(rest.slice(0, 1), JSON.stringify(reply.slice(0, 80))).toBe(type)
    const number = Number(rest.slice(1, end))
    rest = rest.slice(end + 2)
    return number
  }
  const blob = (): string => {
    const length = read('$')
    const text = rest.slice(0, length)
    rest = rest.slice(length + 2)
    return text
  }
  const parts = read('*')
  const keys = Array.from({ length: read('*') }, blob)
  const token = parts === 2 ? blob() : undefined
  expect(rest).toBe('')
  return { keys, token }
}

function clientsOf(steps: readonly Step[]): ClientName[] {
  const names = new Set<ClientName>(['alice'])
  for (const step of steps)
    if (!('advance' in step) && !('jump' in step) && step.from !== undefined) names.add(step.from)
  return [...names]
}
