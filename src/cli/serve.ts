import { type Command, Option } from 'commander'
import { filter, firstValueFrom, map, merge } from 'rxjs'
import { ArgumentError, reason, StateStoreError } from '../core/util/errors.js'
import type { ConsoleServer } from '../server/console/console-server.js'
import {
  type Dialect,
  type Fault,
  type OpeningProgress,
  type RunningStore,
  type ServeOptions,
  serve,
} from '../server/index.js'
import {
  addConsoleFlags,
  type ConsoleServerFlags,
  cannotListen,
  checkConsoleFlags,
  startConsole,
} from './console-flags.js'
import { cutWords } from './cut-words.js'
import { EXIT, Failure } from './failure.js'
import { port } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { addLogFlags, type LogFlags, logOf } from './log-flags.js'
import { showProgress } from './progress.js'
import { addQuotaFlags, type QuotaFlags, quotasOf } from './quota-flags.js'
import { readSeed, type Seed } from './seed.js'
import { addSecurityFlags, type SecurityFlags, ServeSecurity } from './serve-security.js'
import { addStorageFlags, type StorageFlags, storageOf, storageWords } from './storage-flags.js'

interface ServeFlags {
  readonly host: string
  readonly port: number
  readonly wsPort: number
  readonly wsUrl?: string
  readonly seed?: string
  readonly dialect: Dialect
  readonly json?: true
}

type Flags = ServeFlags & ConsoleServerFlags & StorageFlags & LogFlags & SecurityFlags & QuotaFlags

const HELP = `
Keys live in memory; when the store stops they are gone, but for those in the directory of --data: there each
write is on the disk before it is answered. With --log the store has several nodes, which share a log in NATS
JetStream: each has all keys, and answers a write when a quorum of NATS servers has it. The seed is a JSON
object of values by key; a string is stored as it is, anything else as JSON text.

The console is a web page: every key and client, live; edit, freeze, restart, save and restore. Open the address
that is printed: whoever has the token in it may do everything. The broker asks nobody who they are unless
it is told to, and then it listens on the loopback address only.

Examples:
  $ rx-statestore serve
  $ rx-statestore serve --data ./state
  $ rx-statestore serve --data ./state --persist keys --persist-key 'recipes/*'
  $ rx-statestore serve --log nats://a:4222,b:4222,c:4222 --log-name plant-1 --node-id n1
  $ rx-statestore serve --console --seed keys.json
  $ rx-statestore serve --host 0.0.0.0 --password-file users --policy policy.yaml`

/** Adds `serve`. */
export function addServe(program: Command, io: Io): void {
  const command = program.command('serve').summary('run a state store')
  command.description('Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside.')
  command.option('--port <port>', 'TCP port, 0 for any free one', port, 1883)
  command.option('--ws-port <port>', 'WebSocket port, 0 for any free one', port, 8083)
  command.option('--host <address>', 'address to listen on; 0.0.0.0 for all', '127.0.0.1')
  addConsoleFlags(command)
  command.option(
    '--ws-url <url>',
    'where browsers find the broker then, by that proxy, such as wss://panel.example/mqtt',
  )
  command.option('--seed <file>', 'JSON file of keys to begin with')
  command.addOption(
    new Option('--dialect <name>', 'spelling where the documents and the field differ')
      .choices(['field', 'documented'])
      .default('field'),
  )
  addQuotaFlags(command)
  addSecurityFlags(command)
  addStorageFlags(command)
  addLogFlags(command)
  command.option('--json', 'print where it listens as a JSON object')
  command.addHelpText('after', HELP)
  command.action(async () => run(command.optsWithGlobals<Flags>(), io))
}

async function run(flags: Flags, io: Io): Promise<void> {
  checkConsoleFlags(flags)
  // Every start of every node would set them again.
  if (flags.seed !== undefined && flags.log !== undefined)
    throw new Failure(EXIT.usage, '--seed is not for --log: load keys once, with `rx-statestore load`')
  const seed = flags.seed === undefined ? undefined : await readSeed(flags.seed)
  // From now on, so that an interrupt during the start ends it cleanly as well.
  const interrupted = firstValueFrom(io.interrupt$)
  // A store outlives the terminal, and a reload that comes before there is anything to read again.
  const hangUps = io.hangUp$.subscribe()
  try {
    await runUntil(interrupted, flags, seed, io)
  } finally {
    hangUps.unsubscribe()
  }
}

async function runUntil(interrupted: Promise<unknown>, flags: Flags, seed: Seed | undefined, io: Io): Promise<void> {
  const security = new ServeSecurity(flags, io)
  const store = await startUnless(interrupted, start(flags, security, io), flags)
  if (store === undefined) {
    security.close()
    io.stderr.write('stopped\n')
    return
  }
  if (store.storage.state !== 'kept') io.stderr.write(`${storageWords(store.storage, flags.log !== undefined)}\n`)
  store.storage$.subscribe(status => io.stderr.write(`${storageWords(status, flags.log !== undefined)}\n`))
  store.drift$.subscribe(drift => io.stderr.write(`${driftWords(drift)}\n`))
  store.faults$.subscribe(fault => io.stderr.write(`${faultWords(fault)}\n`))
  cutWords(store.audit$).subscribe(words => io.stderr.write(`${words}\n`))
  let consoleServer: ConsoleServer | undefined
  try {
    if (seed !== undefined) await store.load(seed)
    consoleServer = await startConsole(store, flags, flags.data, {
      seed,
      tls: security.options.tls,
      brokerUrl: flags.wsUrl,
    })
    security.watch(store, consoleServer)
    if (consoleServer) cutWords(consoleServer.audit$).subscribe(words => io.stderr.write(`${words}\n`))
    await print(io.stdout, greeting(store, consoleServer, seed ?? [], flags))
    await firstValueFrom(merge(interrupted, stoppedStore(store, flags)))
  } finally {
    security.close()
    await consoleServer?.close()
    await store.close()
  }
  io.stderr.write('stopped\n')
}

/** A node may wait for long, for NATS and for all keys: whoever stops it then does not wait, too. */
async function startUnless(
  interrupted: Promise<unknown>,
  starting: Promise<RunningStore>,
  { log }: LogFlags,
): Promise<RunningStore | undefined> {
  if (log === undefined) return starting
  const store = await Promise.race([starting, interrupted.then(() => undefined)])
  // Nobody waits for why it could not start any more.
  if (store === undefined) starting.then(late => late.close()).catch(() => undefined)
  return store
}

/** Fails when a node has stopped for good, or the directory is another process's: a supervisor may start it again. */
const stoppedStore = ({ storage$ }: RunningStore, { log }: LogFlags) =>
  storage$.pipe(
    filter(({ state, error }) => state === 'broken' && (log !== undefined || isInUse(error))),
    map(status => {
      throw new Failure(EXIT.failed, storageWords(status, log !== undefined))
    }),
  )

const isInUse = (error: unknown): boolean => error instanceof StateStoreError && error.code === 'in-use'

function faultWords({ clientId, error }: Fault): string {
  // What the store itself reports is no fault of its code.
  if (error instanceof StateStoreError && clientId === '') return error.message
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `the store failed${clientId === '' ? '' : ` at what ${JSON.stringify(clientId)} asked for`}: ${what}`
}

const driftWords = (drift: number): string =>
  drift === 0
    ? 'the clock of this machine has caught up with the versions'
    : `the clock of this machine was set back: versions are ${Math.round(drift / 1_000)} s ahead of it, and count on ` +
      'from there until it has caught up; what was written before with a time to live stays as much longer'

async function start(flags: Flags, { options: secure }: ServeSecurity, io: Io): Promise<RunningStore> {
  const { host, port, wsPort, dialect, data, consoleUrl, wsUrl } = flags
  const log = await logOf(flags, io)
  const what = log === undefined ? data : `the log of ${log.name}`
  let opened: OpeningProgress = { read: 0, of: 0 }
  const endProgress = showProgress(() => `${percent(opened)} of ${what} is read`, io)
  const options: ServeOptions = {
    host,
    port,
    wsPort,
    dialect,
    proxied: wsUrl !== undefined,
    ...quotasOf(flags),
    ...secure,
    ...(consoleUrl !== undefined && URL.canParse(consoleUrl) && { allowedOrigins: [new URL(consoleUrl).origin] }),
    ...storageOf(flags),
    ...(log !== undefined && { log }),
    opening: progress => {
      opened = progress
    },
  }
  try {
    return await serve(options)
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    if (cause instanceof StateStoreError || isOfFiles(cause))
      throw new Failure(EXIT.failed, `cannot open ${what}: ${reason(cause)}`, { cause })
    throw cannotListen(cause, taken => (taken === wsPort ? '--ws-port' : '--port'))
  } finally {
    endProgress()
  }
}

/** Whether an error of the system is one of the directory, and not one of listening. */
const isOfFiles = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && !['listen', 'bind', 'getaddrinfo'].includes(String(error.syscall))

const percent = ({ read, of }: OpeningProgress): string => `${of === 0 ? 0 : Math.floor((100 * read) / of)} %`

function greeting(
  { url, wsUrl, cluster }: RunningStore,
  consoleServer: ConsoleServer | undefined,
  seed: Seed,
  { json }: ServeFlags,
): string {
  const node = cluster?.nodeId
  if (json) return jsonLine({ url, wsUrl, keys: seed.length, console: consoleServer?.link, node, store: cluster?.name })
  const keys = seed.length === 0 ? '' : `, with ${seed.length === 1 ? 'a key' : `${seed.length} keys`} to begin with`
  const place = cluster === undefined ? '' : `node ${node} of ${cluster.name}, `
  return `${place}listening on ${url} and ${wsUrl}${keys}\n${consoleServer ? `console on ${consoleServer.link}\n` : ''}`
}
