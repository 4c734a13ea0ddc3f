import type { Command } from 'commander'
import { filter, firstValueFrom, lastValueFrom, tap, timeout as within } from 'rxjs'
import { bytes, ClosedError, NoStoreError, ServiceError, type StateStore, TimeoutError } from '../client/index.js'
import { randomBytes, toHex } from '../core/util/bytes.js'
import type { Clock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import { type Connection, isEndForGood, open, refused } from './connection.js'
import { besideConsole, pulseOf, type StoreHealth } from './console-client.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { addConnectionFlags, addConsoleBeside, type ConnectionFlags, type ConsoleFlags, inUnits } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { colorsFor, counted, showProgress } from './terminal.js'

interface StatusFlags extends ConnectionFlags, ConsoleFlags {
  readonly write: boolean
}

/** Where the keys are that are written to look at the clock. */
export const PROBE_PREFIX = 'rx-statestore/probe/'

const HELP = `
Tells whether the broker is reached and a state store answers there, how long that took, how many keys it
lists, and how far its clock is from the one of this machine. Only the answer to a write tells that: a key
that begins with ${PROBE_PREFIX} is written and deleted at once; --no-write leaves that out. A store that is
asked by its console tells how many are connected and watch, too, and how long it has been running.
Exit code 1: the broker is not reached, or no store answers.

Examples:
  $ rx-statestore status
  $ rx-statestore status --url mqtt://10.0.0.5:1883 --json
  $ rx-statestore status --console 'http://127.0.0.1:8080/#token=...'`

/** What there is to tell of a store. Times in ms. */
interface Report {
  readonly broker: string
  readonly clientId: string
  readonly connected: number
  readonly answered: number
  readonly keys: number | string
  readonly clock: ClockOffset | string
  readonly console: StoreHealth | undefined
}

/** Adds `status`. */
export function addStatus(program: Command, io: Io): void {
  const command = program.command('status').summary('tell how a store is').description('Tells how a store is.')
  command.option('--no-write', 'write no key to find out about the clock')
  addConsoleBeside(command)
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async () => {
    const flags = command.optsWithGlobals<StatusFlags>()
    const report = await look(flags, io)
    await print(io.stdout, flags.json ? jsonLine(asJson(report)) : inWords(report, io))
  })
}

async function look(flags: StatusFlags, io: Io): Promise<Report> {
  const { console, url } = await besideConsole(flags, io)
  const connection = open({ ...flags, ...url }, io, { now: () => LONG_AGO })
  const { store, broker } = connection
  try {
    let address = broker
    const connected = await took(io, async () => {
      address = (await reached(connection)) ?? broker
    })
    const answered = await took(io, async () => answers(connection))
    const keys = await count(store, io).catch(reason)
    const clock = flags.write
      ? await clockOffset(store, io.clock).catch(reason)
      : 'not asked, as nothing is to be written'
    const pulse = console && (await pulseOf(console))
    return { broker: address, clientId: store.clientId, connected, answered, keys, clock, console: pulse }
  } catch (error) {
    throw isEndForGood(error) ? refused(broker, error) : error
  } finally {
    await store.close()
  }
}

async function took({ clock }: Io, act: () => Promise<unknown>): Promise<number> {
  const start = clock.monotonic()
  await act()
  return Math.round(10 * (clock.monotonic() - start)) / 10
}

/** Settles when a broker is reached, with its address; rejects, with why it is not, after a while. */
async function reached({ store, broker, timeout }: Connection): Promise<string | undefined> {
  let cause = 'no answer'
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

/** Settles when a store answers; what it answers may well be that this is not allowed. */
async function answers({ store, broker, timeout }: Connection): Promise<void> {
  await firstValueFrom(store.get(`${PROBE_PREFIX}none`, bytes)).catch((error: unknown) => {
    if (error instanceof NoStoreError)
      throw new Failure(EXIT.failed, `${broker} is reached, but no state store listens there`)
    if (error instanceof TimeoutError)
      throw new Failure(EXIT.failed, `${broker} is reached, but no state store answers there within ${timeout} ms`)
    if (!(error instanceof ServiceError)) throw error
  })
}

async function count(store: StateStore, io: Io): Promise<number> {
  let seen = 0
  const endProgress = showProgress(() => counted(seen, 'key'), io)
  try {
    await lastValueFrom(store.scan('*', bytes).pipe(tap(() => seen++)), { defaultValue: undefined })
    return seen
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

function inWords({ broker, clientId, connected, answered, keys, clock, console }: Report, io: Io): string {
  const { dim } = colorsFor(io.stdout, io.env)
  const lines = [
    ['broker', `${broker}, reached in ${connected} ms as ${clientId}`],
    ['store', `answers in ${answered} ms`],
    ['keys', typeof keys === 'number' ? String(keys) : `not counted: ${keys}`],
    ['clock', typeof clock === 'string' ? `not known: ${clock}` : clockWords(clock)],
    ...(console === undefined ? [] : consoleWords(console)),
  ]
  return lines.map(([name = '', words]) => `${dim(name.padEnd(8))}${words}\n`).join('')
}

function clockWords({ offset, uncertainty }: ClockOffset): string {
  const precision = `± ${uncertainty} ms`
  if (Math.abs(offset) <= uncertainty) return `the same as here (${precision})`
  return `${Math.abs(offset)} ms ${offset > 0 ? 'ahead of' : 'behind'} the one here (${precision})`
}

function consoleWords(pulse: StoreHealth): string[][] {
  const { uptime, connections, watches, frozen, drift, refusedConnections = 0, refusedLogins = 0 } = pulse
  if (uptime === undefined) return [['running', `not serving: ${pulse.attached}`]]
  const clients = pulse.attached ? counted(connections, 'client') : counted(connections, 'connection')
  const refused = `${counted(refusedConnections, 'connection')} and ${counted(refusedLogins, 'login')} since the start`
  return [
    ['running', `for ${inUnits(uptime)}${frozen ? ', frozen now' : ''}`],
    ['clients', `${clients}, this one included; ${counted(watches, 'watch', 'watches')}`],
    ...(refusedConnections + refusedLogins > 0 ? [['refused', refused]] : []),
    ...(drift > 0 ? [['versions', `${drift} ms ahead of the store's clock, which was set back`]] : []),
  ]
}

/** How far the clock of a store is from ours, ms. */
export interface ClockOffset {
  /** Positive when the store's is ahead. */
  readonly offset: number
  /** Half the time the answer took, in which the store may have looked at its clock. */
  readonly uncertainty: number
}

/** So that they go by themselves, should they not be deleted, ms. */
const TIME_TO_LIVE = 1_000
/** The time that requests carry: long ago, for a version is never older than the request for it. */
export const LONG_AGO = 1

/**
 * How far versions are from our clock. Only the answer to a write tells what the store's clock said, so a key of
 * a random name is written, and deleted at once.
 *
 * @param store - one that tells {@link LONG_AGO} as its time
 */
export async function clockOffset(store: StateStore, clock: Pick<Clock, 'now' | 'monotonic'>): Promise<ClockOffset> {
  const key = store.key(`${PROBE_PREFIX}${toHex(randomBytes(8))}`, bytes)
  const [sent, start] = [clock.now(), clock.monotonic()]
  const { version } = await firstValueFrom(key.set(new Uint8Array(0), { expiresIn: TIME_TO_LIVE }))
  const took = clock.monotonic() - start
  await firstValueFrom(key.delete())
  if (version === undefined) throw new Error('the store gave no version')
  return { offset: Math.round(version.wallClock - (sent + took / 2)), uncertainty: Math.ceil(took / 2) }
}
