import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { filter, firstValueFrom, map, merge } from 'rxjs'
import { ArgumentError, reason, StateStoreError } from '../core/util/errors.js'
import { withDefaults } from '../core/util/options.js'
import type { ConsoleServer } from '../server/console/console-server.js'
import { SERVE_OPTIONS } from '../server/host/options.js'
import { QUOTAS } from '../server/host/quotas.js'
import { type DumpLine, type RecoveryProgress, type ServeOptions, type StoreServer, serve } from '../server/index.js'
import { STORAGE_OPTIONS } from '../server/storage/storage-options.js'
import {
  addConsoleFlags,
  type ConsoleServerFlags,
  cannotListen,
  checkConsoleFlags,
  startConsole,
} from './console-flags.js'
import { EXIT, Failure } from './failure.js'
import { addOptions, optionsIn } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { addLogFlags, type LogFlags, logOf } from './log-flags.js'
import { cutWords, driftWords, faultWords, storageWords } from './reports.js'
import { addSecurityFlags, type SecurityFlags, ServeSecurity } from './serve-security.js'
import { showProgress } from './terminal.js'

interface Flags extends ConsoleServerFlags, LogFlags, SecurityFlags {
  readonly wsUrl?: string
  readonly data?: string
  readonly seed?: string
  readonly json?: true
}

const QUOTA_GROUP =
  'How much (per principal: per user, or per address of who shows nothing; this machine counts for none):'

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
  addOptions(command, SERVE_OPTIONS)
  addConsoleFlags(command)
  command.option(
    '--ws-url <url>',
    'where browsers find the broker then, by that proxy, such as wss://panel.example/mqtt',
  )
  command.option('--seed <file>', 'JSON file of keys to begin with')
  addOptions(command, QUOTAS, QUOTA_GROUP)
  addSecurityFlags(command)
  addOptions(command, STORAGE_OPTIONS)
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
  starting: Promise<StoreServer>,
  { log }: LogFlags,
): Promise<StoreServer | undefined> {
  if (log === undefined) return starting
  const store = await Promise.race([starting, interrupted.then(() => undefined)])
  // Nobody waits for why it could not start any more.
  if (store === undefined) starting.then(late => late.close()).catch(() => undefined)
  return store
}

/** Fails when a node has stopped for good, or the directory is another process's: a supervisor may start it again. */
const stoppedStore = ({ storage$ }: StoreServer, { log }: LogFlags) =>
  storage$.pipe(
    filter(({ state, error }) => state === 'broken' && (log !== undefined || isInUse(error))),
    map(status => {
      throw new Failure(EXIT.failed, storageWords(status, log !== undefined))
    }),
  )

const isInUse = (error: unknown): boolean => error instanceof StateStoreError && error.code === 'in-use'

async function start(flags: Flags, { options: secure }: ServeSecurity, io: Io): Promise<StoreServer> {
  const { data, consoleUrl, wsUrl } = flags
  const log = await logOf(flags, io)
  const what = log === undefined ? data : `the log of ${log.name}`
  let opened: RecoveryProgress = { read: 0, of: 0 }
  const endProgress = showProgress(() => `${percent(opened)} of ${what} is read`, io)
  const options: ServeOptions = {
    ...optionsIn(SERVE_OPTIONS, flags),
    ...optionsIn(QUOTAS, flags),
    ...optionsIn(STORAGE_OPTIONS, flags),
    trustProxy: wsUrl !== undefined,
    ...secure,
    ...(consoleUrl !== undefined && URL.canParse(consoleUrl) && { allowedOrigins: [new URL(consoleUrl).origin] }),
    ...(log !== undefined && { log }),
    onProgress: progress => {
      opened = progress
    },
  }
  try {
    return await serve(options)
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    if (cause instanceof StateStoreError || isOfFiles(cause))
      throw new Failure(EXIT.failed, `cannot open ${what}: ${reason(cause)}`, { cause })
    throw cannotListen(cause, taken => (taken === withDefaults(SERVE_OPTIONS, options).wsPort ? '--ws-port' : '--port'))
  } finally {
    endProgress()
  }
}

/** Whether an error of the system is one of the directory, and not one of listening. */
const isOfFiles = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && !['listen', 'bind', 'getaddrinfo'].includes(String(error.syscall))

const percent = ({ read, of }: RecoveryProgress): string => `${of === 0 ? 0 : Math.floor((100 * read) / of)} %`

function greeting(
  { url, wsUrl, cluster }: StoreServer,
  consoleServer: ConsoleServer | undefined,
  seed: Seed,
  { json }: Flags,
): string {
  const node = cluster?.nodeId
  if (json) return jsonLine({ url, wsUrl, keys: seed.length, console: consoleServer?.link, node, store: cluster?.name })
  const keys = seed.length === 0 ? '' : `, with ${seed.length === 1 ? 'a key' : `${seed.length} keys`} to begin with`
  const place = cluster === undefined ? '' : `node ${node} of ${cluster.name}, `
  return `${place}listening on ${url} and ${wsUrl}${keys}\n${consoleServer ? `console on ${consoleServer.link}\n` : ''}`
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
