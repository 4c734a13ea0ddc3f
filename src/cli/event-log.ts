import { hostname } from 'node:os'
import { choice, type GivenOptions, type OptionTable } from '../core/util/options.js'
import { withoutCredentials } from './credentials.js'
import type { Io } from './io.js'
import { jsonLine } from './json.js'
import { type Colors, colorsFor, oneLine } from './terminal.js'

/** The levels with their numbers in JSON, which are those of pino and bunyan. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const
type Level = keyof typeof LEVELS

export const EVENT_LOG = {
  logFormat: {
    kind: choice('<format>', ['json', 'pretty']),
    without: 'pretty on a terminal, else only messages',
    help: 'format of messages on stderr, one line for each event',
  },
  logLevel: {
    kind: choice('<level>', ['debug', 'info', 'warn', 'error']),
    default: 'info',
    help: 'least severe messages to print',
  },
} satisfies OptionTable

export type EventLogFlags = GivenOptions<typeof EVENT_LOG>

type LogIo = Pick<Io, 'stderr' | 'env'> & { readonly clock: Pick<Io['clock'], 'now' | 'monotonic'> }

/** Maximum number of lines for each kind of event in an interval. */
const MAX_LINES = 20
const INTERVAL_MS = 10_000

/** The recent lines of one kind of event. */
interface Recent {
  since: number
  lines: number
  suppressed: number
}

/**
 * Writes one line to stderr for each event that an operator acts on. Lines of one kind of event are rate-limited.
 * Messages contain no values of keys and no credentials.
 */
export class EventLog {
  /** Whether lines have a time and a kind, because the format was requested or stderr is a terminal. */
  readonly isStructured: boolean
  readonly #io: LogIo
  readonly #format: 'json' | 'pretty' | undefined
  readonly #minLevel: number
  readonly #recent = new Map<string, Recent>()

  constructor({ logFormat, logLevel = 'info' }: EventLogFlags, io: LogIo) {
    this.#io = io
    this.#format = logFormat ?? (io.stderr.isTTY ? 'pretty' : undefined)
    this.#minLevel = LEVELS[logLevel]
    this.isStructured = this.#format !== undefined
  }

  /** @param event - kind of the event, a stable name */
  write(level: Level, event: string, message: string): void {
    if (LEVELS[level] < this.#minLevel) return
    const suppressed = this.#admit(event)
    if (suppressed === undefined) return
    if (suppressed > 0) this.#print('warn', event, `${suppressed} more messages of this kind were not printed`)
    this.#print(level, event, withoutCredentials(message))
  }

  /** Returns the number of lines that were suppressed before this line, or `undefined` to suppress this line. */
  #admit(event: string): number | undefined {
    const now = this.#io.clock.monotonic()
    const recent = this.#recent.get(event)
    if (recent === undefined || now - recent.since >= INTERVAL_MS) {
      this.#recent.set(event, { since: now, lines: 1, suppressed: 0 })
      return recent?.suppressed ?? 0
    }
    if (recent.lines < MAX_LINES) {
      recent.lines++
      return 0
    }
    recent.suppressed++
    return undefined
  }

  #print(level: Level, event: string, message: string): void {
    const { stderr, clock, env } = this.#io
    if (this.#format === undefined) stderr.write(`${linesOf(message)}\n`)
    else if (this.#format === 'pretty')
      stderr.write(prettyLine(level, event, message, clock.now(), colorsFor(stderr, env)))
    else
      stderr.write(
        jsonLine({
          level: LEVELS[level],
          time: clock.now(),
          pid: process.pid,
          hostname: hostname(),
          event,
          msg: message,
        }),
      )
  }
}

function prettyLine(level: Level, event: string, message: string, now: number, colors: Colors): string {
  const { dim, red, yellow, green } = colors
  const color = level === 'error' ? red : level === 'warn' ? yellow : level === 'info' ? green : dim
  const text = linesOf(message)
  const words = text === event ? text : `${event}: ${text}`
  return `${dim(new Date(now).toISOString())} ${color(level.toUpperCase().padEnd(5))} ${words}\n`
}

/** Escapes each line for a terminal. The stack of an internal error has several lines. */
const linesOf = (message: string): string => message.split('\n').map(oneLine).join('\n')
