import { type Command, Option } from 'commander'
import { firstValueFrom } from 'rxjs'
import { reason } from '../errors.js'
import { type Dialect, type RunningStore, type ServeOptions, serve } from '../standalone.js'
import { EXIT, Failure } from './failure.js'
import { port, positiveInteger } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { plant, readSeed, type Seed } from './seed.js'

interface ServeFlags {
  readonly host: string
  readonly port: number
  readonly wsPort: number
  readonly seed?: string
  readonly dialect: Dialect
  readonly maxKeys?: number
  readonly json?: true
}

const HELP = `
Keys live in memory; when the store stops they are gone. The seed is a JSON object of values by key; a string
is stored as it is, anything else as JSON text.

Examples:
  $ rx-statestore serve
  $ rx-statestore serve --host 0.0.0.0 --seed keys.json`

/** Adds `serve`. */
export function addServe(program: Command, io: Io): void {
  const command = program.command('serve').summary('run a state store')
  command.description('Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside.')
  command.option('--port <port>', 'TCP port, 0 for any free one', port, 1883)
  command.option('--ws-port <port>', 'WebSocket port, 0 for any free one', port, 8083)
  command.option('--host <address>', 'address to listen on; 0.0.0.0 for all', '127.0.0.1')
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
  const seed = flags.seed === undefined ? [] : await readSeed(flags.seed)
  // From now on, so that an interrupt during the start ends it cleanly as well.
  const interrupted = firstValueFrom(io.interrupt$)
  const store = await start(flags)
  try {
    if (seed.length > 0) await plant(seed, localUrl(store, flags.host))
    await print(io.stdout, greeting(store, seed, flags))
    await interrupted
  } finally {
    await store.close()
  }
  io.stderr.write('stopped\n')
}

async function start({ host, port, wsPort, dialect, maxKeys }: ServeFlags): Promise<RunningStore> {
  const options: ServeOptions = { host, port, wsPort, dialect, ...(maxKeys !== undefined && { maxKeys }) }
  try {
    return await serve(options)
  } catch (cause) {
    throw new Failure(EXIT.failed, `cannot listen: ${explained(cause, wsPort)}`, { cause })
  }
}

function explained(cause: unknown, wsPort: number): string {
  if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'EADDRINUSE' || !('port' in cause)) {
    return reason(cause)
  }
  const flag = cause.port === wsPort ? '--ws-port' : '--port'
  return `port ${cause.port} is in use (EADDRINUSE); choose another with ${flag}`
}

function greeting({ url, wsUrl }: RunningStore, seed: Seed, { json }: ServeFlags): string {
  if (json) return jsonLine({ url, wsUrl, keys: seed.length })
  const keys = seed.length === 0 ? '' : `, with ${seed.length === 1 ? 'a key' : `${seed.length} keys`} to begin with`
  return `listening on ${url} and ${wsUrl}${keys}\n`
}

// The address "all addresses" is one to listen on; where to connect to it is up to the system.
function localUrl({ url }: RunningStore, host: string): string {
  return host === '0.0.0.0' ? url.replace(host, '127.0.0.1') : host === '::' ? url.replace('[::]', '[::1]') : url
}
