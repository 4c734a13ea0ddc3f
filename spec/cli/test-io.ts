import { type ChildProcess, spawn } from 'node:child_process'
import { filter, Subject } from 'rxjs'
import { onTestFinished } from 'vitest'
import type { ExitCode } from '../../src/cli/failure.js'
import type { Io, Sink, SpawnOptions } from '../../src/cli/io.js'
import { run } from '../../src/cli/run.js'
import { utf8 } from '../../src/core/util/bytes.js'
import { type Clock, systemClock } from '../../src/core/util/clock.js'
import type { Environment } from '../../src/node/environment.js'
import { type ServeOptions, type StoreServer, serve } from '../../src/server/index.js'
import { claimedPorts } from '../support/claimed-ports.js'

/** The time of the test's clock, which is a quarter past noon in the local time zone. */
export const NOW = new Date(2026, 0, 2, 12, 15, 16, 17).getTime()

/** A stream that records writes and notifies waiting tests of new lines. */
export class TestSink implements Sink {
  readonly isTTY: boolean
  readonly columns?: number
  /** The error with which all further writes fail. */
  broken: Error | undefined
  readonly #chunks: Buffer[] = []
  readonly #wake = new Set<() => void>()
  #seen = 0

  constructor(columns?: number) {
    this.isTTY = columns !== undefined
    if (columns !== undefined) this.columns = columns
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get text(): string {
    return this.bytes.toString()
  }

  get lines(): readonly string[] {
    return this.text.split('\n').slice(0, -1)
  }

  write(chunk: string | Uint8Array, done?: (error?: Error | null) => void): boolean {
    if (this.broken === undefined) this.#chunks.push(Buffer.from(chunk))
    done?.(this.broken)
    for (const wake of this.#wake) wake()
    return true
  }

  /** Resolves when a line equals the given text. */
  async waitForLine(line: string): Promise<void> {
    while (!this.lines.includes(line)) await this.#written()
  }

  /** Resolves to the next matching line after the previous result. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const at = this.lines.findIndex((line, index) => index >= this.#seen && pattern.test(line))
      const line = this.lines[at]
      if (line !== undefined) {
        this.#seen = at + 1
        return line
      }
      await this.#written()
    }
  }

  async #written(): Promise<void> {
    await new Promise<void>(resolve => this.#wake.add(resolve))
    this.#wake.clear()
  }
}

export interface TestWorld {
  readonly env?: Environment
  readonly stdin?: string | Uint8Array
  /** The width of the terminal for stdout and stderr. Without it, both are pipes. */
  readonly columns?: number
  /** The command's clock. The default is the system clock. */
  readonly clock?: Pick<Clock, 'schedule'>
}

/** A running command, which is interrupted at the end of the test. */
export interface Running {
  readonly stdout: TestSink
  readonly stderr: TestSink
  readonly exit: Promise<ExitCode>
  interrupt(signal?: NodeJS.Signals): void
}

export function start(args: readonly string[], world: TestWorld = {}): Running {
  const { env = {}, stdin = '', columns, clock = systemClock } = world
  const [stdout, stderr, signal$] = [new TestSink(columns), new TestSink(columns), new Subject<NodeJS.Signals>()]
  const io: Io = {
    stdout,
    stderr,
    env,
    interrupt$: signal$.pipe(filter(signal => signal === 'SIGINT' || signal === 'SIGTERM')),
    hangUp$: signal$.pipe(filter(signal => signal === 'SIGHUP')),
    signal$,
    clock: {
      now: () => NOW,
      monotonic: () => systemClock.monotonic(),
      schedule: (delay, task) => clock.schedule(delay, task),
    },
    stdin: piecesOf(typeof stdin === 'string' ? utf8(stdin) : stdin),
    spawn: (command, args, options) => spawnInto({ stdout, stderr }, command, args, options),
  }
  const exit = run(args, io)
  const interrupt = (signal: NodeJS.Signals = 'SIGINT'): void => signal$.next(signal)
  onTestFinished(async () => {
    interrupt()
    await exit
  })
  return { stdout, stderr, exit, interrupt }
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += 10_000) yield bytes.subarray(from, from + 10_000)
}

/** Starts a real process that writes to the command's streams. */
function spawnInto(
  { stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>,
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.on('data', chunk => stdout.write(chunk))
  child.stderr.on('data', chunk => stderr.write(chunk))
  return child
}

export interface Outcome {
  readonly code: ExitCode
  readonly stdout: string
  readonly stderr: string
  readonly bytes: Buffer
}

/** Runs a command line to its end. */
export async function execute(args: readonly string[], world: TestWorld = {}): Promise<Outcome> {
  const { stdout, stderr, exit } = start(args, world)
  const code = await exit
  return { code, stdout: stdout.text, stderr: stderr.text, bytes: stdout.bytes }
}

/** Opens a store on claimed ports, which closes at the end of the test. */
export async function openStore(options: ServeOptions = {}): Promise<StoreServer> {
  const store = await serve({ ...(await claimedPorts()), ...options })
  onTestFinished(async () => store.close())
  return store
}

/** Parses the only JSON object of an output. */
export const jsonOf = (text: string): unknown => JSON.parse(text)

/** The format of a version of the store. */
export const VERSION = /^\d{13}:\d+:StateStore$/
