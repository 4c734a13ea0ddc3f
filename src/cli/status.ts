import type { Command } from 'commander'
import { filter, firstValueFrom, lastValueFrom, tap, timeout as within } from 'rxjs'
import { bytes, ClosedError, NoStoreError, ServiceError, type StateStore, TimeoutError } from '../client/index.js'
import { randomBytes, toHex } from '../core/util/bytes.js'
import type { Clock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import { type CliConnection, isPermanentEnd, open, PROBE_PREFIX, refused } from './connection.js'
import { locateConsole, type StoreHealth, storeHealthOf } from './console-client.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { addConnectionFlags, addConsoleBeside, type ConnectionFlags, type ConsoleFlags, inUnits } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { colorsFor, counted, showProgress, table } from './terminal.js'

interface StatusFlags extends ConnectionFlags, ConsoleFlags {
  readonly write: boolean
}

const HELP = `
Connects to the broker, sends a request to the store, and shows latencies, the
number of keys, and the offset of the store's clock. Measuring the offset writes
and deletes a key that begins with ${PROBE_PREFIX}; --no-write skips
that. With --console, also shows uptime, clients and watches.
Exit code 1: the broker is unreachable, or no store answers.

Examples:
  $ rx-statestore status
  $ rx-statestore status --url mqtt://10.0.0.5:1883 --json
  $ rx-statestore status --console 'http://127.0.0.1:8080/#token=...'`

/** All times are in ms. */
interface Report {
  readonly broker: string
  readonly clientId: string
  readonly connected: number
  readonly answered: number
  readonly keys: number | string
  readonly clock: ClockOffset | string
  readonly console: StoreHealth | undefined
}

export function addStatus(program: Command, io: Io): void {
  const command = program.command('status').summary('show store health').description('Shows the health of a store.')
  command.option('--no-write', 'do not write a key to measure the clock offset')
  addConsoleBeside(command)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async () => {
    const flags = command.optsWithGlobals<StatusFlags>()
    const report = await examine(flags, io)
    await print(io.stdout, flags.json ? jsonLine(asJson(report)) : inWords(report, io))
  })
}

async function examine(flags: StatusFlags, io: Io): Promise<Report> {
  const { console, url } = await locateConsole(flags, io)
  const connection = open({ ...flags, ...url }, io, { now: () => LONG_AGO })
  const { store, broker } = connection
  try {
    let address = broker
    const connected = await took(io, async () => {
      address = (await reached(connection)) ?? broker
    })
    const answered = await took(io, async () => answers(connection))
    const keys = await count(store, io).catch(reason)
    const clock = flags.write ? await clockOffset(store, io.clock).catch(reason) : 'not measured (--no-write)'
    const health = console && (await storeHealthOf(console))
    return { broker: address, clientId: store.clientId, connected, answered, keys, clock, console: health }
  } catch (error) {
    throw isPermanentEnd(error) ? refused(broker, error) : error
  } finally {
    await store.close()
  }
}

async function took({ clock }: Io, act: () => Promise<unknown>): Promise<number> {
  const start = clock.monotonic()
  await act()
  return Math.round(10 * (clock.monotonic() - start)) / 10
}

/** Resolves to the address of the broker once connected. Rejects with the cause after the timeout. */
async function reached({ store, broker, timeout }: CliConnection): Promise<string | undefined> {
  let cause = 'no response'
  const connected$ = store.status$.pipe(
    filter(status => {
      if (status.state === 'closed' && status.cause)
        throw new ClosedError(status.cause.message, { cause: status.cause })
      if (status.state === 'reconnecting') cause = rootCause(status.cause)
      return status.state === 'connected'
    }),
    within({ first: timeout }),
  )
  const status = await firstValueFrom(connected$).catch((error: unknown) => {
    if (error instanceof ClosedError) throw error
    throw new Failure(EXIT.failed, `cannot reach ${broker} within ${timeout} ms: ${cause}`, { cause: error })
  })
  return 'url' in status ? status.url : undefined
}

/** Resolves when a store responds, even if it denies the request. */
async function answers({ store, broker, timeout }: CliConnection): Promise<void> {
  await firstValueFrom(store.get(`${PROBE_PREFIX}none`, bytes)).catch((error: unknown) => {
    if (error instanceof NoStoreError)
      throw new Failure(EXIT.failed, `${broker} is reachable, but no state store listens there`)
    if (error instanceof TimeoutError)
      throw new Failure(EXIT.failed, `${broker} is reachable, but no state store answers there within ${timeout} ms`)
    if (!(error instanceof ServiceError)) throw error
  })
}

async function count(store: StateStore, io: Io): Promise<number> {
  let keyCount = 0
  const endProgress = showProgress(() => counted(keyCount, 'key'), io)
  try {
    await lastValueFrom(store.scan('*', bytes).pipe(tap(() => keyCount++)), { defaultValue: undefined })
    return keyCount
  } finally {
    endProgress()
  }
}

function asJson({ keys, clock, console, ...rest }: Report): object {
  return {
    ...rest,
    ...(typeof keys === 'number' ? { keys } : { keysUnknown: keys }),
    ...(typeof clock === 'string'
      ? { clockUnknown: clock }
      : { clockOffset: clock.offset, clockUncertainty: clock.uncertainty }),
    console,
  }
}

type Row = readonly [name: string, text: string | undefined]

function inWords({ broker, clientId, connected, answered, keys, clock, console }: Report, io: Io): string {
  const rows: readonly Row[] = [
    ['broker', `${broker}, connected in ${connected} ms as ${clientId}`],
    ['store', `answers in ${answered} ms`],
    ['keys', typeof keys === 'number' ? String(keys) : `unknown: ${keys}`],
    ['clock', typeof clock === 'string' ? `unknown: ${clock}` : clockWords(clock)],
    ...(console === undefined ? [] : consoleWords(console)),
  ]
  return table(rows, colorsFor(io.stdout, io.env))
}

function clockWords({ offset, uncertainty }: ClockOffset): string {
  const precision = `± ${uncertainty} ms`
  if (Math.abs(offset) <= uncertainty) return `in sync with this machine (${precision})`
  return `${Math.abs(offset)} ms ${offset > 0 ? 'ahead of' : 'behind'} this machine (${precision})`
}

function consoleWords(health: StoreHealth): readonly Row[] {
  const { uptime, connections, watches, frozen, drift, refusedConnections = 0, refusedLogins = 0 } = health
  if (uptime === undefined) return [['running', `not serving: ${health.attached}`]]
  const clients = health.attached ? counted(connections, 'client') : counted(connections, 'connection')
  const refused = `${counted(refusedConnections, 'connection')} and ${counted(refusedLogins, 'login')} since its start`
  return [
    ['running', `for ${inUnits(uptime)}${frozen ? ', frozen now' : ''}`],
    ['clients', `${clients}, including this one; ${counted(watches, 'watch', 'watches')}`],
    ['refused', refusedConnections + refusedLogins > 0 ? refused : undefined],
    [
      'drift',
      drift > 0 ? `the clock of the store's machine is ${inUnits(drift)} behind the store's time: set it` : undefined,
    ],
  ]
}

/** The offset of a store's clock from this machine's clock, ms. */
export interface ClockOffset {
  /** Positive if the store's clock is ahead. */
  readonly offset: number
  /** Half of the round-trip time. */
  readonly uncertainty: number
}

/** Time to live of probe keys, which removes the keys that could not be deleted. */
const TIME_TO_LIVE_MS = 1_000
/** The timestamp of requests. It is in the past because the store never assigns a version older than the request. */
export const LONG_AGO = 1

/**
 * Measures the clock offset by a write's version, because only the response to a write contains the store's time.
 * Writes and deletes a key with a random name.
 *
 * @param store - a client that sends {@link LONG_AGO} as the timestamp of requests
 */
export async function clockOffset(store: StateStore, clock: Pick<Clock, 'now' | 'monotonic'>): Promise<ClockOffset> {
  const key = store.key(`${PROBE_PREFIX}${toHex(randomBytes(8))}`, bytes)
  const [sent, start] = [clock.now(), clock.monotonic()]
  const { version } = await firstValueFrom(key.set(new Uint8Array(0), { expiresIn: TIME_TO_LIVE_MS }))
  const took = clock.monotonic() - start
  await firstValueFrom(key.delete())
  if (version === undefined) throw new Error('the response of the store has no version')
  return { offset: Math.round(version.wallClock - (sent + took / 2)), uncertainty: Math.ceil(took / 2) }
}
