import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { filter, firstValueFrom, map, merge, type Observable, type Subscription } from 'rxjs'
import { type LogEvent, subscribe } from '../core/diagnostics/index.js'
import { ArgumentError, reason, StateStoreError } from '../core/util/errors.js'
import { withDefaults } from '../core/util/options.js'
import type { ConsoleServer } from '../server/console/console-server.js'
import { checkOptions, SERVE_OPTIONS } from '../server/host/options.js'
import { QUOTAS } from '../server/host/quotas.js'
import { warnIfInsecure } from '../server/host/security.js'
import {
  type AuditEvent,
  type DumpLine,
  type RecoveryProgress,
  type ServeOptions,
  type StorageStatus,
  type StoreServer,
  serve,
} from '../server/index.js'
import type { MetricsServer } from '../server/metrics/index.js'
import { STORAGE_OPTIONS } from '../server/storage/storage-options.js'
import { checkAuditLog, prepareAuditLog } from './audit-log.js'
import { addConfigFlags, Config, type ConfigFlags, type EffectiveSetting, printConfig } from './config.js'
import {
  type ConsoleServerFlags,
  cannotListen,
  checkConsoleFlags,
  consoleWords,
  mayPrintToken,
  startConsole,
} from './console-flags.js'
import { EventLog, type EventLogFlags } from './event-log.js'
import { EXIT, Failure } from './failure.js'
import { addSections, optionsIn } from './flags.js'
import { warnBeyondHeap } from './heap-warning.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { type LogFlags, logOf } from './log-flags.js'
import {
  checkMetricsAccessOf,
  checkMetricsFlags,
  type MetricsFlags,
  metricsReloads,
  prepareMetrics,
  startMetrics,
} from './metrics-flags.js'
import { connectionLimitWarnings, driftWords, faultWords, storageLevel, storageWords } from './reports.js'
import { CONSOLE_FAULTS, SERVE_SECTIONS } from './serve-options.js'
import { type SecurityFlags, ServeSecurity } from './serve-security.js'
import { ServiceNotifier } from './service-notifier.js'
import { colorsFor, counted, showProgress, table } from './terminal.js'

interface Flags extends ConsoleServerFlags, MetricsFlags, LogFlags, SecurityFlags, ConfigFlags, EventLogFlags {
  readonly wsUrl?: string
  readonly allowedOrigin?: readonly string[]
  readonly data?: string
  readonly seed?: string
  readonly faults?: true
  readonly json?: true
}

const MORE = `
Keys are in memory and lost when the store stops, unless --data keeps them in a
directory, where each write is on disk before it is acknowledged. With --log,
the store is a node of a cluster that shares a log in NATS JetStream: each node
has all keys, and a write is acknowledged when a quorum of NATS servers has it.
The seed is a JSON object of values by key; strings are stored unquoted, other
values as JSON text.

The console is a web page with all keys and clients, live; edit, dump and load.
With --faults, it also freezes and restarts the store and disconnects clients.
Open the printed address: its token grants full access. Under systemd and with
--log-format, only the path of the token's file is printed.
Without authentication, the broker accepts every client, and listens on the
loopback address only.
`

const HELP = `
Examples:
  $ rx-statestore serve --data ./state --console
  $ rx-statestore serve --host 0.0.0.0 --password-file users --policy policy.yaml
  $ rx-statestore serve --log nats://a:4222,b:4222,c:4222 --node-id n1`

export function addServe(program: Command, io: Io): void {
  const command = program.command('serve').summary('run a state store')
  command.description('Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside.')
  addSections(command, SERVE_SECTIONS)
  addConfigFlags(command)
  command.option('--json', 'print the addresses as a JSON object')
  addHelp(command, io.stdout, { text: HELP, more: MORE })
  command.action(async () => {
    const { flags, effective } = new Config(SERVE_SECTIONS, command.optsWithGlobals<Flags>(), io.env)
    if (flags.checkConfig) await checkConfig(flags, effective, io)
    else await run(flags, io)
  })
}

/** Runs all checks that do not require an open store. */
async function checkConfig(flags: Flags, effective: readonly EffectiveSetting[], io: Io): Promise<void> {
  await seedOf(flags)
  const log = new EventLog(flags, io)
  const security = new ServeSecurity(flags, io, log)
  security.close()
  checkMetricsAccessOf(flags, security.options)
  checkAuditLog(flags.audit)
  warnIfInsecure(checkOptions(optionsFrom(flags, security, await logOf(flags, log))))
  warnBeyondHeap(optionsIn(QUOTAS, flags), log)
  await printConfig(effective, flags, io)
}

/** Reads the initial keys. Throws {@link Failure} for contradictory flags. */
async function seedOf(flags: Flags): Promise<Seed | undefined> {
  checkConsoleFlags(flags, CONSOLE_FAULTS)
  checkMetricsFlags(flags)
  // With a log, each start of each node would set the keys again.
  if (flags.seed !== undefined && flags.log !== undefined)
    throw new Failure(EXIT.usage, '--seed cannot be used with --log: load the keys once with `rx-statestore load`')
  return flags.seed === undefined ? undefined : readSeed(flags.seed)
}

async function run(flags: Flags, io: Io): Promise<void> {
  const seed = await seedOf(flags)
  // This subscribes before the start, so that an interrupt during the start is not lost.
  const interrupted = firstValueFrom(io.interrupt$)
  // SIGHUP must not end the store, because the signal comes from a closed terminal or a service reload.
  const hangUps = io.hangUp$.subscribe()
  try {
    await runUntil(interrupted, flags, seed, io)
  } finally {
    hangUps.unsubscribe()
  }
}

async function runUntil(interrupted: Promise<unknown>, flags: Flags, seed: Seed | undefined, io: Io): Promise<void> {
  const log = new EventLog(flags, io)
  const notifier = new ServiceNotifier(io, log)
  const security = new ServeSecurity(flags, io, log)
  prepareAuditLog(flags.audit, log)
  const metricsToken = await prepareMetrics(flags, security.options)
  warnBeyondHeap(optionsIn(QUOTAS, flags), log)
  const store = await startUnless(interrupted, start(flags, { security, eventLog: log, io }), flags)
  if (store === undefined) {
    security.close()
    log.write('info', 'stopped', 'stopped')
    return
  }
  const subscription = logEvents(store, flags, log)
  let consoleServer: ConsoleServer | undefined
  let metrics: MetricsServer | undefined
  try {
    // The metrics count from here, before clients connect.
    metrics = await startMetrics(store, flags, { token: metricsToken, tls: security.options.tls })
    if (seed !== undefined) await store.load(seed)
    consoleServer = await startConsole(store, flags, flags.data, {
      seed,
      tls: security.options.tls,
      brokerUrl: flags.wsUrl,
      faults: flags.faults,
    })
    security.watch(store, consoleServer, metrics, metricsReloads(metrics, flags))
    for (const server of [consoleServer, metrics]) if (server) subscription.add(logLimits(server.audit$, log))
    if (consoleServer && flags.audit === undefined) subscription.add(logOperations(consoleServer, log))
    const started: Greeting = { store, console: consoleServer, metrics, seed: seed ?? [], flags }
    await print(io.stdout, greeting(started, io))
    if (flags.logFormat !== undefined) log.write('info', 'listening', addressLines(started, false).join(', '))
    notifier.notifyReady()
    await firstValueFrom(merge(interrupted, stoppedStore(store, flags)))
  } finally {
    notifier.notifyStopping()
    security.close()
    await consoleServer?.close()
    await metrics?.close()
    await store.close()
    subscription.unsubscribe()
  }
  log.write('info', 'stopped', 'stopped')
}

function logEvents(store: StoreServer, flags: Flags, log: EventLog): Subscription {
  const isNode = flags.log !== undefined
  const logStorage = (status: StorageStatus): void =>
    log.write(storageLevel(status), 'storage', storageWords(status, isNode))
  if (store.storage.state !== 'kept') logStorage(store.storage)
  const subscription = store.storage$.subscribe(logStorage)
  subscription.add(
    store.drift$.subscribe(drift => log.write(drift === 0 ? 'info' : 'warn', 'drift', driftWords(drift))),
  )
  subscription.add(store.faults$.subscribe(fault => log.write('error', 'fault', faultWords(fault))))
  subscription.add(logLimits(store.audit$, log))
  if (log.isStructured) {
    const logElection = (event: LogEvent): void => {
      if (event.type === 'election' && event.isElected)
        log.write('info', 'election', `node ${event.node} writes the next snapshot of the log`)
    }
    subscription.add(subscribe('rx-statestore:log', logElection))
  }
  return subscription
}

const logLimits = (events$: Observable<AuditEvent>, log: EventLog): Subscription =>
  connectionLimitWarnings(events$).subscribe(message => log.write('warn', 'limit', message))

/** Logs the operations of a console without an audit log, because its users replace keys and cause faults. */
const logOperations = ({ audit$ }: ConsoleServer, log: EventLog): Subscription =>
  audit$
    .pipe(filter(({ event, target }) => event !== 'login' && target !== undefined))
    .subscribe(({ event, target, address }) =>
      log.write('info', 'console', `console: ${event === 'refused' ? 'refused ' : ''}${target} from ${address}`),
    )

/** Starts a store. A node may wait a long time for NATS and for its keys; an interrupt ends that wait. */
async function startUnless(
  interrupted: Promise<unknown>,
  starting: Promise<StoreServer>,
  { log }: LogFlags,
): Promise<StoreServer | undefined> {
  if (log === undefined) return starting
  const store = await Promise.race([starting, interrupted.then(() => undefined)])
  // The error of a start that fails after the interrupt no longer matters.
  if (store === undefined) starting.then(late => late.close()).catch(() => undefined)
  return store
}

/**
 * Returns an observable that errors when a node stops permanently or loses its directory to another process, so that a
 * supervisor can restart the node.
 */
const stoppedStore = ({ storage$ }: StoreServer, { log }: LogFlags) =>
  storage$.pipe(
    filter(({ state, error }) => state === 'broken' && (log !== undefined || isInUse(error))),
    map(status => {
      throw new Failure(EXIT.failed, storageWords(status, log !== undefined))
    }),
  )

const isInUse = (error: unknown): boolean => error instanceof StateStoreError && error.code === 'in-use'

interface StartContext {
  readonly security: ServeSecurity
  readonly eventLog: EventLog
  readonly io: Io
}

async function start(flags: Flags, { security, eventLog, io }: StartContext): Promise<StoreServer> {
  const { data } = flags
  const log = await logOf(flags, eventLog)
  const what = log === undefined ? data : `the log of ${log.name}`
  let opened: RecoveryProgress = { read: 0, of: 0 }
  const endProgress = showProgress(() => `${percent(opened)} of ${what} is read`, io)
  const options: ServeOptions = {
    ...optionsFrom(flags, security, log),
    onProgress: progress => {
      opened = progress
    },
  }
  try {
    return await serve(options)
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    if (cause instanceof StateStoreError || isFileError(cause))
      throw new Failure(EXIT.failed, `cannot open ${what}: ${reason(cause)}`, { cause })
    throw cannotListen(cause, usedPort =>
      usedPort === withDefaults(SERVE_OPTIONS, options).wsPort ? '--ws-port' : '--port',
    )
  } finally {
    endProgress()
  }
}

function optionsFrom(
  flags: Flags,
  { options: secure }: ServeSecurity,
  log: ServeOptions['log'] | undefined,
): ServeOptions {
  const { consoleUrl, wsUrl, allowedOrigin = [] } = flags
  const consoleOrigins = consoleUrl !== undefined && URL.canParse(consoleUrl) ? [new URL(consoleUrl).origin] : []
  return {
    ...optionsIn(SERVE_OPTIONS, flags),
    ...optionsIn(QUOTAS, flags),
    ...optionsIn(STORAGE_OPTIONS, flags),
    trustProxy: wsUrl !== undefined,
    ...secure,
    allowedOrigins: [...allowedOrigin, ...consoleOrigins],
    ...(log !== undefined && { log }),
  }
}

/** Returns whether a system error concerns the directory rather than a listener. */
const isFileError = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && !['listen', 'bind', 'getaddrinfo'].includes(String(error.syscall))

const percent = ({ read, of }: RecoveryProgress): string => `${of === 0 ? 0 : Math.floor((100 * read) / of)} %`

interface Greeting {
  readonly store: StoreServer
  readonly console: ConsoleServer | undefined
  readonly metrics: MetricsServer | undefined
  readonly seed: Seed
  readonly flags: Flags
}

function greeting(started: Greeting, io: Io): string {
  const { store, console, metrics, seed, flags } = started
  const { url, wsUrl, cluster } = store
  const node = cluster?.nodeId
  const metricsUrl = metrics && metricsUrlOf(metrics)
  const withToken = mayPrintToken(flags, io)
  if (flags.json) {
    const beside = { console: withToken ? console?.link : console?.url, metrics: metricsUrl }
    return jsonLine({ url, wsUrl, keys: seed.length, ...beside, node, store: cluster?.name })
  }
  if (io.stdout.isTTY) {
    const keys = seed.length === 0 ? undefined : counted(seed.length, 'initial key')
    return table(
      [
        ['Node', cluster && `${node} of ${cluster.name}`],
        ['MQTT', url],
        ['Browser', wsUrl],
        ['Console', console?.link ?? 'off (serve it with --console)'],
        ['Metrics', metricsUrl],
        ['Data', [dataWords(flags, cluster), keys].filter(Boolean).join(', with ')],
        ['', 'Ctrl+C stops the store'],
      ],
      colorsFor(io.stdout, io.env),
    )
  }
  return addressLines(started, withToken)
    .map(line => `${line}\n`)
    .join('')
}

/** Describes a store's addresses, one in a line. @param withToken - whether the console's address has its token */
function addressLines({ store, console, metrics, seed, flags }: Greeting, withToken: boolean): readonly string[] {
  const { url, wsUrl, cluster } = store
  const prefix = cluster === undefined ? '' : `node ${cluster.nodeId} of ${cluster.name}, `
  const suffix = seed.length === 0 ? '' : `, with ${counted(seed.length, 'initial key')}`
  return [
    `${prefix}listening on ${url} and ${wsUrl}${suffix}`,
    ...(console ? [withToken ? `console on ${console.link}` : consoleWords(console, flags, flags.data)] : []),
    ...(metrics ? [`metrics on ${metricsUrlOf(metrics)}`] : []),
  ]
}

const metricsUrlOf = ({ url }: MetricsServer): string => `${url}metrics`

function dataWords({ data }: Flags, cluster: StoreServer['cluster']): string {
  if (cluster !== undefined) return `the log ${cluster.name} in NATS JetStream`
  return data === undefined ? 'in memory (keep it with --data DIR)' : resolve(data)
}

export type Seed = readonly DumpLine[]

/** Reads a JSON object of values by key. Strings are stored without quotes, and all other values as JSON text. */
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
