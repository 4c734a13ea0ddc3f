import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { ArgumentError, reason } from '../core/util/errors.js'
import { packageVersion } from '../node/package-files.js'
import { ConsoleServer } from '../server/console/console-server.js'
import type { ServeConsoleOptions } from '../server/console/index.js'
import type { AttachedStore, RunningStore } from '../server/index.js'
import { CONSOLE_TOKEN } from '../server/storage/directory.js'
import { keptConsoleToken } from './console-client.js'
import { EXIT, Failure } from './failure.js'
import { port } from './flags.js'

/** Flags of commands that serve a console. */
export interface ConsoleServerFlags {
  readonly console?: number
  readonly consoleHost?: string
  readonly consoleUrl?: string
  readonly consoleTokenFile?: string
}

/** Adds them. */
export function addConsoleFlags(command: Command): void {
  command.addOption(
    new Option('--console [port]', 'serve a console for the browser, too (port 8080; 0 for any free one)')
      .argParser(port)
      .preset('8080'),
  )
  command.option('--console-host <address>', 'address the console listens on (127.0.0.1)')
  command.option('--console-url <url>', 'where people find it, when a proxy on this machine passes requests on')
  command.option(
    '--console-token-file <file>',
    'keep its token there, made if need be (console-token in the directory of serve --data, else a new one at each start)',
  )
}

/** Throws {@link Failure} for flags that make no sense. @param others - more that are for a console, by their names */
export function checkConsoleFlags(flags: ConsoleServerFlags, others: Readonly<Record<string, unknown>> = {}): void {
  const { console, consoleHost, consoleUrl, consoleTokenFile } = flags
  const own = { 'console-host': consoleHost, 'console-url': consoleUrl, 'console-token-file': consoleTokenFile }
  const given = { ...own, ...others }
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && console === undefined) throw new Failure(EXIT.usage, `--${name} is for --console`)
  }
  // The system takes no name for all addresses.
  if (consoleHost === '') throw new Failure(EXIT.usage, '--console-host needs an address')
}

/**
 * Serves the console of a store, if flags ask for one. Rejects with {@link Failure}.
 *
 * @param data - the directory of the store, if it has one
 */
export async function startConsole(
  store: RunningStore | AttachedStore,
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
