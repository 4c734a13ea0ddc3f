import { type Command, Option } from 'commander'
import { firstValueFrom } from 'rxjs'
import { ConsoleServer } from '../console/console-server.js'
import { reason } from '../errors.js'
import { type Dialect, type RunningStore, type ServeOptions, serve } from '../standalone.js'
import { EXIT, Failure } from './failure.js'
import { port, positiveInteger } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { readSeed, type Seed } from './seed.js'
import { packageVersion } from './version.js'

interface ServeFlags {
  readonly host: string
  readonly port: number
  readonly wsPort: number
  readonly console?: number
  readonly consoleHost?: string
  readonly seed?: string
  readonly dialect: Dialect
  readonly maxKeys?: number
  readonly json?: true
}

const HELP = `
Keys live in memory; when the store stops they are gone. The seed is a JSON object of values by key; a string
is stored as it is, anything else as JSON text.

The console is a web page: every key and client, live; edit, freeze, restart, save and restore. Open the address
that is printed: whoever has the token in it may do everything. The broker itself asks nobody who they are.

Examples:
  $ rx-statestore serve
  $ rx-statestore serve --console --seed keys.json
  $ rx-statestore serve --host 0.0.0.0`

/** Adds `serve`. */
export function addServe(program: Command, io: Io): void {
  const command = program.command('serve').summary('run a state store')
  command.description('Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside.')
  command.option('--port <port>', 'TCP port, 0 for any free one', port, 1883)
  command.option('--ws-port <port>', 'WebSocket port, 0 for any free one', port, 8083)
  command.option('--host <address>', 'address to listen on; 0.0.0.0 for all', '127.0.0.1')
  command.addOption(
    new Option('--console [port]', 'serve a console for the browser, too (port 8080; 0 for any free one)')
      .argParser(port)
      .preset('8080'),
  )
  command.option('--console-host <address>', 'address the console listens on (127.0.0.1)')
  command.option('--seed <file>', 'JSON file of keys to begin with')
  command.addOption(
    new Option('--dialect <name>', 'spelling where the documents and the field differ')
      .choices(['field', 'documented'])
      .default('field'),
  )
  command.option('--max-keys <n>', 'most keys the store holds', positiveInteger)
  command.option('--json', 'print where it listens as a JSON object')
  command.addHelpText('after', HELP)
  command.action(async () => run(command.optsWithGlobals<ServeFlags>(), io))
}

async function run(flags: ServeFlags, io: Io): Promise<void> {
  if (flags.consoleHost !== undefined && flags.console === undefined) {
    throw new Failure(EXIT.usage, '--console-host is for --console')
  }
  // The system takes no name for all addresses.
  if (flags.consoleHost === '') throw new Failure(EXIT.usage, '--console-host needs an address')
  const seed = flags.seed === undefined ? undefined : await readSeed(flags.seed)
  // From now on, so that an interrupt during the start ends it cleanly as well.
  const interrupted = firstValueFrom(io.interrupt$)
  const store = await start(flags)
  let consoleServer: ConsoleServer | undefined
  try {
    if (seed !== undefined) await store.load(seed)
    consoleServer = await startConsole(store, seed, flags)
    await print(io.stdout, greeting(store, consoleServer, seed ?? [], flags))
    await interrupted
  } finally {
    await consoleServer?.close()
    await store.close()
  }
  io.stderr.write('stopped\n')
}

async function start({ host, port, wsPort, dialect, maxKeys }: ServeFlags): Promise<RunningStore> {
  const options: ServeOptions = { host, port, wsPort, dialect, ...(maxKeys !== undefined && { maxKeys }) }
  try {
    return await serve(options)
  } catch (cause) {
    throw cannotListen(cause, taken => (taken === wsPort ? '--ws-port' : '--port'))
  }
}

async function startConsole(
  store: RunningStore,
  seed: Seed | undefined,
  { console: port, consoleHost: host = '127.0.0.1' }: ServeFlags,
): Promise<ConsoleServer | undefined> {
  if (port === undefined) return undefined
  try {
    return await ConsoleServer.start(store, { host, port, seed, version: packageVersion() })
  } catch (cause) {
    throw cannotListen(cause, () => '--console')
  }
}

function cannotListen(cause: unknown, flagOf: (port: unknown) => string): Failure {
  const taken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE' && 'port' in cause
  const words = taken
    ? `port ${cause.port} is in use (EADDRINUSE); choose another with ${flagOf(cause.port)}`
    : reason(cause)
  return new Failure(EXIT.failed, `cannot listen: ${words}`, { cause })
}

function greeting(
  { url, wsUrl }: RunningStore,
  consoleServer: ConsoleServer | undefined,
  seed: Seed,
  { json }: ServeFlags,
): string {
  if (json) return jsonLine({ url, wsUrl, keys: seed.length, console: consoleServer?.link })
  const keys = seed.length === 0 ? '' : `, with ${seed.length === 1 ? 'a key' : `${seed.length} keys`} to begin with`
  return `listening on ${url} and ${wsUrl}${keys}\n${consoleServer ? `console on ${consoleServer.link}\n` : ''}`
}
