import type { Command } from 'commander'
import {
  defaultIfEmpty,
  distinctUntilChanged,
  firstValueFrom,
  ignoreElements,
  lastValueFrom,
  merge,
  type Subscription,
  tap,
} from 'rxjs'
import type { ConnectOptions } from '../client/index.js'
import { formatUrl } from '../core/util/format-url.js'
import { omitUndefined } from '../core/util/omit-undefined.js'
import { type GivenOptions, type OptionTable, text } from '../core/util/options.js'
import { ATTACH_OPTIONS, settingsFrom as checkAttachOptions } from '../server/attach/options.js'
import type { ConsoleServer } from '../server/console/console-server.js'
import type { BrokerLogin, ServeConsoleOptions } from '../server/console/index.js'
import {
  type AttachedState,
  type AttachedStore,
  type AttachOptions,
  attach,
  type Fault,
  type StorageStatus,
} from '../server/index.js'
import type { MetricsServer } from '../server/metrics/index.js'
import { STORAGE_OPTIONS } from '../server/storage/storage-options.js'
import { auditTarget, checkAuditLog, prepareAuditLog, writeAuditLog } from './audit-log.js'
import { addConfigFlags, Config, type ConfigFlags, type EffectiveSetting, printConfig } from './config.js'
import { contentOf, optionsOf, urlsOf } from './connection.js'
import {
  CONSOLE,
  type ConsoleServerFlags,
  checkConsoleFlags,
  consoleWords,
  mayPrintToken,
  startConsole,
} from './console-flags.js'
import { EVENT_LOG, EventLog, type EventLogFlags } from './event-log.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { addConnectionFlags, addSections, type ConnectionFlags, type OptionSection, optionsIn } from './flags.js'
import { warnBeyondHeap } from './heap-warning.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { LOG, LOG_GROUP, type LogFlags, logOf } from './log-flags.js'
import { read } from './login-methods.js'
import {
  checkMetricsAccessOf,
  checkMetricsFlags,
  METRICS,
  type MetricsFlags,
  metricsReloads,
  prepareMetrics,
  startMetrics,
} from './metrics-flags.js'
import { type Reloads, reloadFiles } from './reloaded-files.js'
import { faultWords, storageLevel, storageWords } from './reports.js'

/** Flags for the broker connection of the console's page. */
const CONSOLE_BROKER = {
  consoleBrokerUrl: {
    kind: text('<url>'),
    help: 'WebSocket address of the broker for the page, such as ws://broker:9001',
  },
  consoleBrokerUser: {
    kind: text('<name>'),
    help: 'user name of the page at the broker; visible to anyone with the console token',
  },
  consoleBrokerPasswordFile: { kind: text('<file>'), help: 'file with the password of that user' },
} satisfies OptionTable

interface AttachFlags
  extends ConnectionFlags,
    ConsoleServerFlags,
    MetricsFlags,
    LogFlags,
    ConfigFlags,
    EventLogFlags,
    GivenOptions<typeof CONSOLE_BROKER>,
    GivenOptions<typeof ACCESS> {}

const MORE = `
Serves a state store through any MQTT 5 broker; clients connect to the broker
only. The store reconnects after an outage, announces when it stops, and waits
as a standby while another store serves. Keys are in memory and lost when the
store stops, unless --data keeps them in a directory, or --log in NATS
JetStream, from which a standby takes over with all keys. docs/any-broker.md
lists the permissions it needs, and the brokers that were tested.

The console is a web page with all keys and clients, live. The page reads and
writes keys as a separate MQTT client over WebSocket, at --console-broker-url.
Anyone with the token in the printed address can read the page's user name and
password, and has the page's permissions at the broker.
`

const HELP = `
Examples:
  $ rx-statestore attach mqtt://localhost
  $ rx-statestore attach mqtts://broker.example --ca ca.pem --username store --data ./state
  $ rx-statestore attach mqtt://localhost --log nats://a:4222,b:4222 --node-id n1
  $ rx-statestore attach mqtt://localhost --console --console-broker-url ws://localhost:9001`

const ACCESS = {
  policy: { kind: text('<file>'), help: 'policy for keys, by client id; requires --identity-property' },
  audit: { kind: auditTarget, without: 'stderr', help: 'write a JSON line for each rejection to a file' },
} satisfies OptionTable

/** The options of `attach`, except those of its connection. */
export const ATTACH_SECTIONS: readonly OptionSection[] = [
  { table: STORAGE_OPTIONS },
  { table: ATTACH_OPTIONS },
  { table: ACCESS },
  { table: CONSOLE },
  { table: CONSOLE_BROKER },
  { table: METRICS },
  { table: LOG, group: LOG_GROUP },
  { table: EVENT_LOG, group: 'Messages:' },
]

export function addAttach(program: Command, io: Io): void {
  const command = program.command('attach').summary('serve a state store through an existing broker')
  command.description('Serves a state store through an existing MQTT 5 broker.')
  command.argument('[url]', 'broker (else --url)')
  addSections(command, ATTACH_SECTIONS)
  addConfigFlags(command)
  addConnectionFlags(command, false, { clientId: 'rx-statestore-service, which the stores of one broker share' })
  addHelp(command, io.stdout, { text: HELP, more: MORE })
  command.action(async (url: string | undefined) => {
    const { flags, effective } = new Config(ATTACH_SECTIONS, command.optsWithGlobals<AttachFlags>(), io.env)
    const broker = url ?? onlyOne(urlsOf(flags, io))
    if (flags.checkConfig) await checkConfig(flags, effective, io)
    else await run(broker, flags, io)
  })
}

async function checkConfig(flags: AttachFlags, effective: readonly EffectiveSetting[], io: Io): Promise<void> {
  brokerOfConsole(flags)
  checkMetricsFlags(flags)
  checkMetricsAccessOf(flags, {})
  checkAuditLog(flags.audit)
  const eventLog = new EventLog(flags, io)
  const log = await logOf(flags, eventLog)
  checkAttachOptions({ ...optionsFrom(flags, io), ...(log !== undefined && { log }) })
  warnBeyondHeap(optionsIn(ATTACH_OPTIONS, flags), eventLog)
  await printConfig(effective, flags, io)
}

/** Returns the only address, because the MQTT session must be at the broker that receives the requests. */
function onlyOne([url, ...others]: readonly string[]): string {
  if (url !== undefined && others.length === 0) return url
  throw new Failure(EXIT.usage, 'attach takes one broker URL, got several')
}

async function run(url: string, flags: AttachFlags, io: Io): Promise<void> {
  // SIGHUP must not end the store, because the signal comes from a closed terminal or a service reload.
  const hangUps = io.hangUp$.subscribe()
  try {
    await runAt(url, flags, io)
  } finally {
    hangUps.unsubscribe()
  }
}

async function runAt(url: string, flags: AttachFlags, io: Io): Promise<void> {
  const interrupted = firstValueFrom(io.interrupt$)
  const consoleBroker = brokerOfConsole(flags)
  checkMetricsFlags(flags)
  const eventLog = new EventLog(flags, io)
  const log = await logOf(flags, eventLog)
  prepareAuditLog(flags.audit, eventLog)
  const token = await prepareMetrics(flags, {})
  warnBeyondHeap(optionsIn(ATTACH_OPTIONS, flags), eventLog)
  const store = await attach(url, { ...optionsFrom(flags, io), ...(log !== undefined && { log }) })
  const broker = formatUrl(url)
  const context: PrintContext = { broker, flags, eventLog, io }
  const messages$ = merge(
    store.state$.pipe(
      distinctUntilChanged((a, b) => wordsOf(a, broker) === wordsOf(b, broker)),
      tap(state => void printState(state, context)),
    ),
    store.storage$.pipe(
      tap((status: StorageStatus) =>
        eventLog.write(storageLevel(status), 'storage', storageWords(status, log !== undefined)),
      ),
    ),
    store.faults$.pipe(tap((fault: Fault) => eventLog.write('error', 'fault', faultWords(fault)))),
  )
  const finished = lastValueFrom(messages$.pipe(ignoreElements(), defaultIfEmpty(undefined)))
  if (flags.audit !== undefined) writeAuditLog(store.audit$, flags.audit, io, eventLog)
  let console: ConsoleServer | undefined
  let metrics: MetricsServer | undefined
  let reloading: Subscription | undefined
  try {
    metrics = await openMetrics(store, token, context)
    reloading = reloadFiles(new Map([...policyReloads(store, flags), ...metricsReloads(metrics, flags)]), io, eventLog)
    console = await openConsole(store, consoleBroker, context)
    await Promise.race([interrupted, finished])
    const { state } = store
    if (state.state === 'closed')
      throw new Failure(EXIT.failed, `${broker}: ${rootCause(state.cause)}`, { cause: state.cause })
  } finally {
    reloading?.unsubscribe()
    await console?.close()
    await metrics?.close()
    await store.close()
  }
  eventLog.write('info', 'stopped', 'stopped')
}

/** Returns the function that reads the policy of a store again, if it has one. */
const policyReloads = (store: AttachedStore, { policy: file }: AttachFlags): Reloads =>
  file === undefined ? new Map() : new Map([[file, () => store.reload({ policy: read(file) })]])

async function openConsole(
  store: AttachedStore,
  consoleBroker: BrokerOfConsole,
  { broker, flags, eventLog, io }: PrintContext,
): Promise<ConsoleServer | undefined> {
  const console = await startConsole(store, flags, undefined, { seed: undefined, ...consoleBroker })
  if (console === undefined) return undefined
  if (flags.audit !== undefined) writeAuditLog(console.audit$, flags.audit, io, eventLog)
  const withToken = mayPrintToken(flags, io)
  const words = withToken ? `console on ${console.link}` : consoleWords(console, flags, undefined)
  const address = withToken ? console.link : console.url
  await print(io.stdout, flags.json ? jsonLine({ broker, console: address }) : `${words}\n`)
  return console
}

async function openMetrics(
  store: AttachedStore,
  token: string | undefined,
  { broker, flags, eventLog, io }: PrintContext,
): Promise<MetricsServer | undefined> {
  const metrics = await startMetrics(store, flags, { token })
  if (metrics === undefined) return undefined
  if (flags.audit !== undefined) writeAuditLog(metrics.audit$, flags.audit, io, eventLog)
  const url = `${metrics.url}metrics`
  await print(io.stdout, flags.json ? jsonLine({ broker, metrics: url }) : `metrics on ${url}\n`)
  return metrics
}

interface PrintContext {
  readonly broker: string
  readonly flags: AttachFlags
  readonly eventLog: EventLog
  readonly io: Io
}

/** Prints to stdout that the store serves, for programs that wait for this line, and other states to stderr. */
async function printState(state: AttachedState, { broker, flags, eventLog, io }: PrintContext): Promise<void> {
  const message = wordsOf(state, broker)
  if (state.state === 'serving')
    await print(io.stdout, flags.json ? jsonLine({ broker, life: state.life }) : `${message}\n`)
  else if (message !== '') eventLog.write(state.state === 'standby' ? 'info' : 'warn', state.state, message)
}

function wordsOf(state: AttachedState, broker: string): string {
  if (state.state === 'serving') return `serving at ${broker}`
  if (state.state === 'standby') return `another store serves at ${broker}; waiting to take over`
  if (state.state === 'reconnecting') return `cannot reach ${broker}, still trying: ${rootCause(state.cause)}`
  return ''
}

function optionsFrom(flags: AttachFlags, io: Io): AttachOptions {
  const policy = contentOf('--policy', flags.policy)
  return {
    ...connectingOf(optionsOf(flags, io)),
    ...optionsIn(STORAGE_OPTIONS, flags),
    ...optionsIn(ATTACH_OPTIONS, flags),
    ...(policy !== undefined && { policy }),
  }
}

/** Returns the connection options that {@link attach} accepts. */
function connectingOf(options: ConnectOptions): AttachOptions {
  const { clientId, username, password, ca, cert, key, keyPassphrase, keepAlive, authentication, credentials } = options
  return omitUndefined({
    clientId,
    username,
    password,
    ca,
    cert,
    key,
    keyPassphrase,
    keepAlive,
    authentication,
    credentials,
  })
}

/** The address and login with which the page of the console connects to the broker. */
type BrokerOfConsole = Pick<ServeConsoleOptions, 'brokerUrl' | 'brokerLogin'>

/** Reads the flags for the page. Throws {@link Failure} for contradictory flags and for unreadable files. */
function brokerOfConsole(flags: AttachFlags): BrokerOfConsole {
  const { console, consoleBrokerUrl: brokerUrl, consoleBrokerUser: username, consoleBrokerPasswordFile: file } = flags
  checkConsoleFlags(flags, CONSOLE_BROKER)
  if (console !== undefined && brokerUrl === undefined)
    throw new Failure(
      EXIT.usage,
      '--console requires --console-broker-url: the page connects to the broker over WebSocket',
    )
  if (username === undefined && file !== undefined)
    throw new Failure(EXIT.usage, '--console-broker-password-file requires --console-broker-user')
  if (username === undefined) return { brokerUrl }
  const brokerLogin = (): BrokerLogin => {
    const password = contentOf('--console-broker-password-file', file)?.replace(/\r?\n$/, '')
    return { username, ...(password !== undefined && { password }) }
  }
  brokerLogin()
  return { brokerUrl, brokerLogin }
}
