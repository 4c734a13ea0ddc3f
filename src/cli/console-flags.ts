import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { ArgumentError, reason } from '../core/util/errors.js'
import { type GivenOptions, type OptionTable, port, text } from '../core/util/options.js'
import { packageVersion } from '../node/package-files.js'
import { ConsoleServer } from '../server/console/console-server.js'
import type { ServeConsoleOptions } from '../server/console/index.js'
import type { AttachedStore, StoreServer } from '../server/index.js'
import { CONSOLE_TOKEN } from '../server/storage/directory.js'
import { keptConsoleToken } from './console-client.js'
import { EXIT, Failure } from './failure.js'
import { addOptions, parserOf, refuseOthers } from './flags.js'

const CONSOLE = {
  consoleHost: { kind: text('<address>'), without: '127.0.0.1', help: 'address the console listens on' },
  consoleUrl: { kind: text('<url>'), help: 'where people find it, when a proxy on this machine passes requests on' },
  consoleTokenFile: {
    kind: text('<file>'),
    without: 'console-token in the directory of serve --data, else a new one at each start',
    help: 'keep its token there, made if need be',
  },
} satisfies OptionTable

/** Flags of commands that serve a console. */
export type ConsoleServerFlags = GivenOptions<typeof CONSOLE> & { readonly console?: number }

/** Adds them. */
export function addConsoleFlags(command: Command): void {
  const console = new Option('--console [port]', 'serve a console for the browser, too (port 8080; 0 for any free one)')
  command.addOption(console.argParser(parserOf(port)).preset('8080'))
  addOptions(command, CONSOLE)
}

/** Throws {@link Failure} for flags that make no sense. @param others - more that are for a console */
export function checkConsoleFlags(flags: ConsoleServerFlags, others: OptionTable = {}): void {
  const table: OptionTable = { ...CONSOLE, ...others }
  if (flags.console === undefined) refuseOthers(table, flags, '--console')
  // The system takes no name for all addresses.
  if (flags.consoleHost === '') throw new Failure(EXIT.usage, '--console-host needs an address')
}

/**
 * Serves the console of a store, if flags ask for one. Rejects with {@link Failure}.
 *
 * @param data - the directory of the store, if it has one
 */
export async function startConsole(
  store: StoreServer | AttachedStore,
  { console: port, consoleHost: host = '127.0.0.1', consoleUrl: publicUrl, consoleTokenFile }: ConsoleServerFlags,
  data: string | undefined,
  options: Pick<ServeConsoleOptions, 'seed' | 'tls' | 'brokerUrl' | 'brokerLogin'>,
): Promise<ConsoleServer | undefined> {
  if (port === undefined) return undefined
  try {
    const { seed } = options
    const file = consoleTokenFile ?? (data === undefined ? undefined : join(data, CONSOLE_TOKEN))
    const token = file === undefined ? undefined : await keptConsoleToken(file)
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

/** The failure to listen. @param flagOf - the flag that chooses another port */
export function cannotListen(cause: unknown, flagOf: (port: unknown) => string): Failure {
  const taken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE' && 'port' in cause
  const words = taken
    ? `port ${cause.port} is in use (EADDRINUSE); choose another with ${flagOf(cause.port)}`
    : reason(cause)
  return new Failure(EXIT.failed, `cannot listen: ${words}`, { cause })
}
