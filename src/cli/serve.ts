import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import {
  asyncScheduler,
  bufferTime,
  filter,
  firstValueFrom,
  map,
  merge,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { ArgumentError, reason, StateStoreError } from '../core/util/errors.js'
import type { ConsoleServer } from '../server/console/console-server.js'
import {
  type AuditEvent,
  type Dialect,
  type DumpLine,
  type Fault,
  type OpeningProgress,
  type QuotaOptions,
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
import { EXIT, Failure } from './failure.js'
import { port, positiveInteger } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { addLogFlags, type LogFlags, logOf } from './log-flags.js'
import { addSecurityFlags, type SecurityFlags, ServeSecurity } from './serve-security.js'
import { addStorageFlags, type StorageFlags, storageOf, storageWords } from './storage-flags.js'
import { showProgress } from './terminal.js'

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

/** At most one line in so long, ms. */
const INTERVAL = 10_000

/** What an operator reads of connections that were cut for limits, whether there is an audit log or not. */
export const cutWords = (
  events$: Observable<AuditEvent>,
  scheduler: SchedulerLike = asyncScheduler,
): Observable<string> =>
  events$.pipe(
    filter(({ event }) => event === 'cut'),
    bufferTime(INTERVAL, scheduler),
    filter(({ length }) => length > 0),
    map(wordsOf),
  )

function wordsOf(cuts: readonly AuditEvent[]): string {
  const total = cuts.reduce((sum, { count = 0 }) => sum + count, 0)
  const [worst] = [...cuts].sort((a, b) => (b.count ?? 0) - (a.count ?? 0))
  const { address, clientId, listener, reason } = worst ?? {}
  const who = clientId === undefined ? (address ?? 'several addresses') : `${JSON.stringify(clientId)} at ${address}`
  const what = total === 1 ? 'a connection was' : `${total} connections were`
  return `warning: ${what} cut for a limit, ${total === 1 ? '' : 'most '}of ${who} (${listener}): ${reason}`
}

/** Keys to begin with, and their values as text. */
export type Seed = readonly DumpLine[]

/** Reads a seed: a JSON object of values by key. A string is stored as it is, anything else as JSON text. */
export async function readSeed(file: string): Promise<Seed> {
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Failure(EXIT.usage, `cannot read the seed: ${reason(cause)}`, { cause })
  })
  const seed = parse(content, file)
  if (typeof seed !== 'object' || seed === null || Array.isArray(seed)) {
    throw new Failure(EXIT.usage, `the seed ${file} must be a JSON object of values by key`)
  }
  if (Object.hasOwn(seed, '')) throw new Failure(EXIT.usage, `the seed ${file} has an empty key`)
  return Object.entries(seed).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  }))
}

function parse(content: string, file: string): unknown {
  try {
    return JSON.parse(content)
  } catch (cause) {
    throw new Failure(EXIT.usage, `the seed ${file} is not JSON: ${reason(cause)}`, { cause })
  }
}

/** Flags of `serve` about how much there may be; `maximumBufferedBytes` is what `--max-memory` leaves. */
export type QuotaFlags = Omit<QuotaOptions, 'maximumBufferedBytes'>

const GROUP = 'How much (per principal: per user, or per address of who shows nothing; this machine counts for none):'

const FLAGS = [
  ['--max-memory', 'most that keys and everything that waits may take together, bytes'],
  ['--max-keys', 'most keys the store holds (1000000)'],
  ['--max-keys-per-principal', 'most that one wrote last (half of it)'],
  ['--max-bytes', 'most the store keeps: keys, values, watched keys'],
  ['--max-bytes-per-principal', 'most for keys that one wrote last (half of it)'],
  ['--max-waiting-bytes-per-principal', 'most for its clients that are away (an eighth of what waits)'],
  ['--max-connections', 'most connections (50000)'],
  ['--max-connections-per-address', 'most from one other machine (1000)'],
  ['--max-connections-per-principal', 'most of one (10000)'],
  ['--max-subscriptions', 'most subscriptions (1000000)'],
  ['--max-subscriptions-per-principal', 'most of one (100000)'],
  ['--max-watches', 'most watches of keys (2000000)'],
  ['--max-watches-per-principal', 'most of one (500000)'],
  ['--max-retained', 'most retained messages (100000)'],
  ['--max-retained-per-principal', 'most of one (half of it)'],
  ['--max-retained-bytes', 'most bytes of them (256 MiB, and half of what waits)'],
  ['--max-retained-bytes-per-principal', 'most of one (half of it)'],
  ['--max-packet-rate', 'packets a second; who sends more is read more slowly (any number)'],
  ['--max-packet-rate-per-address', 'from one other machine (100000)'],
  ['--max-packet-rate-per-principal', 'of one (50000)'],
  ['--max-byte-rate', 'bytes a second, likewise (any number)'],
  ['--max-byte-rate-per-address', 'from one other machine (256 MiB)'],
  ['--max-byte-rate-per-principal', 'of one (128 MiB)'],
  ['--max-scan-rate-per-principal', 'bytes of keys that scans of one compare in a second (64 MiB)'],
  ['--max-user-properties', 'most user properties of a packet (1000)'],
] as const

/** Adds them. */
export function addQuotaFlags(command: Command): void {
  for (const [flag, description] of FLAGS) {
    const option = command.createOption(`${flag} <n>`, description)
    command.addOption(option.argParser(positiveInteger).helpGroup(GROUP))
  }
}

/** What flags say of quotas. */
export function quotasOf(flags: QuotaFlags): QuotaFlags {
  const names = FLAGS.map(([flag]) => flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()))
  return Object.fromEntries(
    Object.entries(flags).filter(([name, value]) => names.includes(name) && value !== undefined),
  )
}
