import { join, resolve } from 'node:path'
import { ArgumentError, reason } from '../core/util/errors.js'
import { type GivenOptions, type OptionTable, port, text } from '../core/util/options.js'
import { packageVersion } from '../node/package-files.js'
import { ConsoleServer } from '../server/console/console-server.js'
import type { ServeConsoleOptions } from '../server/console/index.js'
import type { AttachedStore, StoreServer } from '../server/index.js'
import { CONSOLE_TOKEN } from '../server/storage/directory.js'
import { readOrCreateToken } from './console-client.js'
import type { EventLogFlags } from './event-log.js'
import { EXIT, Failure } from './failure.js'
import { refuseOthers } from './flags.js'
import type { Io } from './io.js'

const CONSOLE_DETAILS = {
  consoleHost: { kind: text('<address>'), without: '127.0.0.1', help: 'address the console listens on' },
  consoleUrl: { kind: text('<url>'), help: 'public address of the console behind a proxy on this machine' },
  consoleTokenFile: {
    kind: text('<file>'),
    without: 'console-token in the --data directory, else a new token at each start',
    help: 'file that stores the token; created if missing',
  },
} satisfies OptionTable

export const CONSOLE = {
  console: {
    kind: { ...port, sign: '[port]' },
    preset: '8080',
    // RX_STATESTORE_CONSOLE is a console's address for other commands.
    variable: 'RX_STATESTORE_CONSOLE_PORT',
    help: 'serve the web console, on port 8080 by default',
    isCommon: true,
  },
  ...CONSOLE_DETAILS,
} satisfies OptionTable

export type ConsoleServerFlags = GivenOptions<typeof CONSOLE>

/**
 * Throws {@link Failure} for flags of a console without --console. @param others - further flags that require --console
 */
export function checkConsoleFlags(flags: ConsoleServerFlags, others: OptionTable = {}): void {
  const table: OptionTable = { ...CONSOLE_DETAILS, ...others }
  if (flags.console === undefined) refuseOthers(table, flags, '--console')
  // With an empty host the system would listen on all addresses.
  if (flags.consoleHost === '') throw new Failure(EXIT.usage, '--console-host requires an address')
}

/**
 * Serves a store's console if flags request one. Rejects with {@link Failure}.
 *
 * @param data - the store's directory, if it has one
 */
export async function startConsole(
  store: StoreServer | AttachedStore,
  flags: ConsoleServerFlags,
  data: string | undefined,
  options: Pick<ServeConsoleOptions, 'seed' | 'tls' | 'brokerUrl' | 'brokerLogin' | 'faults'>,
): Promise<ConsoleServer | undefined> {
  const { console: port, consoleHost: host = '127.0.0.1', consoleUrl: publicUrl } = flags
  if (port === undefined) return undefined
  try {
    const { seed } = options
    const file = tokenFileOf(flags, data)
    const token = file === undefined ? undefined : await readOrCreateToken(file, '--console-token-file')
    return await ConsoleServer.start(store, {
      ...options,
      seed,
      host,
      port,
      publicUrl,
      token,
      version: packageVersion(),
    })
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    throw cannotListen(cause, () => '--console')
  }
}

const tokenFileOf = ({ consoleTokenFile }: ConsoleServerFlags, data: string | undefined): string | undefined =>
  consoleTokenFile ?? (data === undefined ? undefined : join(data, CONSOLE_TOKEN))

/** Describes a console without its token, for a log. */
export function consoleWords({ url }: ConsoleServer, flags: ConsoleServerFlags, data: string | undefined): string {
  const file = tokenFileOf(flags, data)
  const where = file === undefined ? 'to know its token, use --console-token-file' : `token in ${resolve(file)}`
  return `console on ${url} (${where})`
}

/**
 * Returns whether stdout may have a console's token. The journal of systemd and the log of a container keep stdout
 * for a long time, and more users may read them.
 */
export const mayPrintToken = ({ logFormat }: EventLogFlags, { stdout, env }: Pick<Io, 'stdout' | 'env'>): boolean =>
  stdout.isTTY === true || (logFormat === undefined && !env['JOURNAL_STREAM'] && !env['NOTIFY_SOCKET'])

/** Returns the failure of a server that cannot listen. @param flagOf - returns the flag that chooses another port */
export function cannotListen(cause: unknown, flagOf: (port: unknown) => string): Failure {
  const usedPort = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE' && 'port' in cause
  const message = usedPort
    ? `port ${cause.port} is in use (EADDRINUSE); choose another with ${flagOf(cause.port)}`
    : reason(cause)
  return new Failure(EXIT.failed, `cannot listen: ${message}`, { cause })
}
