import type { Command } from 'commander'
import { defaultIfEmpty, distinctUntilChanged, firstValueFrom, ignoreElements, lastValueFrom, merge, tap } from 'rxjs'
import type { ConnectOptions } from '../client/index.js'
import { type GivenOptions, type OptionTable, text } from '../core/util/options.js'
import { ATTACH_OPTIONS } from '../server/attach/options.js'
import type { ConsoleServer } from '../server/console/console-server.js'
import type { ServeConsoleOptions } from '../server/console/index.js'
import {
  type AttachedState,
  type AttachedStore,
  type AttachOptions,
  attach,
  type Fault,
  type StorageStatus,
} from '../server/index.js'
import { STORAGE_OPTIONS } from '../server/storage/storage-options.js'
import { brokerOf, contentOf, optionsOf, urlsOf } from './connection.js'
import { addConsoleFlags, type ConsoleServerFlags, checkConsoleFlags, startConsole } from './console-flags.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { addConnectionFlags, addOptions, type ConnectionFlags, optionsIn } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { addLogFlags, type LogFlags, logOf } from './log-flags.js'
import { faultWords, record, storageWords } from './reports.js'

/** Flags about how the page of a console reaches a broker of somebody else. */
const CONSOLE_BROKER = {
  consoleBrokerUrl: { kind: text('<url>'), help: 'where its page finds the broker, such as ws://broker:9001' },
  consoleBrokerUser: { kind: text('<name>'), help: 'as whom the page logs in there; told to whoever has the token' },
  consoleBrokerPasswordFile: { kind: text('<file>'), help: 'with this password' },
} satisfies OptionTable

interface AttachFlags extends ConnectionFlags, ConsoleServerFlags, LogFlags, GivenOptions<typeof CONSOLE_BROKER> {
  readonly policy?: string
  readonly audit?: string | true
}

const HELP = `
Connects to any MQTT 5 broker and serves a state store there: clients need nothing but the broker. It comes back after
every cut, says when it is away, and waits as a standby while another one serves. Keys live in memory; when it stops they
are gone, but for those in the directory of --data. With --log they are in a log in NATS JetStream that every standby
follows: the one that takes over has all of them. What the broker has to allow, and which brokers were tried with what
result, is in docs/any-broker.md.

The console is a web page: every key and client, live; edit, save and restore. Its page reads and writes keys at the
broker as a client of its own, over WebSocket: --console-broker-url says where. Whoever has the token in the address that
is printed gets the user name and password of the page, too; their rights at the broker are what the page may do.

Examples:
  $ rx-statestore attach mqtt://localhost
  $ rx-statestore attach mqtts://broker.example --ca ca.pem --username store --data ./state
  $ rx-statestore attach mqtt://localhost --log nats://a:4222,b:4222,c:4222 --log-name plant-1 --node-id n1
  $ rx-statestore attach mqtt://localhost --console --console-broker-url ws://localhost:9001`

/** Adds `attach [URL]`. */
export function addAttach(program: Command, io: Io): void {
  const command = program.command('attach').summary('run a state store at a broker that is there')
  command.description('Serves a state store through an MQTT 5 broker of somebody else.')
  command.argument('[url]', 'broker, in place of --url')
  addOptions(command, STORAGE_OPTIONS)
  addOptions(command, ATTACH_OPTIONS)
  command.option('--policy <file>', 'who may do what with keys, by client ids; needs --identity-property')
  command.option('--audit [file]', 'a line of JSON for each refusal (stderr)')
  addConsoleFlags(command)
  addOptions(command, CONSOLE_BROKER)
  addLogFlags(command)
  addConnectionFlags(command, false, 'rx-statestore-service, which is how several know of each other')
  command.addHelpText('after', HELP)
  command.action(async (url: string | undefined) => {
    const flags = command.optsWithGlobals<AttachFlags>()
    await run(url ?? onlyOne(urlsOf(flags, io)), flags, io)
  })
}

// Its session has to be where its requests are.
function onlyOne([url, ...others]: readonly string[]): string {
  if (url !== undefined && others.length === 0) return url
  throw new Failure(EXIT.usage, 'a store is attached to one broker, not to several')
}

async function run(url: string, flags: AttachFlags, io: Io): Promise<void> {
  // A store outlives the terminal, and whoever reloads services.
  const hangUps = io.hangUp$.subscribe()
  try {
    await runAt(url, flags, io)
  } finally {
    hangUps.unsubscribe()
  }
}

async function runAt(url: string, flags: AttachFlags, io: Io): Promise<void> {
  const interrupted = firstValueFrom(io.interrupt$)
  const place = brokerOfConsole(flags)
  const log = await logOf(flags, io)
  const store = await attach(url, { ...optionsFrom(flags, io), ...(log !== undefined && { log }) })
  const broker = brokerOf(url)
  const told$ = merge(
    store.state$.pipe(
      distinctUntilChanged((a, b) => wordsOf(a, broker) === wordsOf(b, broker)),
      tap(state => void tell(state, broker, flags, io)),
    ),
    store.storage$.pipe(
      tap((status: StorageStatus) => io.stderr.write(`${storageWords(status, log !== undefined)}\n`)),
    ),
    store.faults$.pipe(tap((fault: Fault) => io.stderr.write(`${faultWords(fault)}\n`))),
  )
  const over = lastValueFrom(told$.pipe(ignoreElements(), defaultIfEmpty(undefined)))
  if (flags.audit !== undefined) record(store.audit$, flags.audit, io)
  let console: ConsoleServer | undefined
  try {
    console = await openConsole(store, broker, flags, place, io)
    await Promise.race([interrupted, over])
    const { state } = store
    if (state.state === 'closed')
      throw new Failure(EXIT.failed, `${broker}: ${rootCause(state.cause)}`, { cause: state.cause })
  } finally {
    await console?.close()
    await store.close()
  }
  io.stderr.write('stopped\n')
}

/** The console of the store, if there is to be one; whether the store serves or waits. */
async function openConsole(
  store: AttachedStore,
  broker: string,
  flags: AttachFlags,
  place: BrokerOfConsole,
  io: Io,
): Promise<ConsoleServer | undefined> {
  const console = await startConsole(store, flags, undefined, { seed: undefined, ...place })
  if (console === undefined) return undefined
  if (flags.audit !== undefined) record(console.audit$, flags.audit, io)
  await print(io.stdout, flags.json ? jsonLine({ broker, console: console.link }) : `console on ${console.link}\n`)
  return console
}

/** That it serves is what others wait for; all else is talk. */
async function tell(state: AttachedState, broker: string, { json }: AttachFlags, io: Io): Promise<void> {
  const words = wordsOf(state, broker)
  if (state.state !== 'serving') io.stderr.write(words)
  else await print(io.stdout, json ? jsonLine({ broker, life: state.life }) : words)
}

function wordsOf(state: AttachedState, broker: string): string {
  if (state.state === 'serving') return `serving at ${broker}\n`
  if (state.state === 'standby') return `another store serves at ${broker}; waiting to take over\n`
  if (state.state === 'reconnecting') return `cannot reach ${broker}, still trying: ${rootCause(state.cause)}\n`
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

/** What the store decides itself is left out. */
function connectingOf(options: ConnectOptions): AttachOptions {
  const { clientId, username, password, ca, cert, key, keyPassphrase, keepAlive, authentication, credentials } = options
  const found = { clientId, username, password, ca, cert, key, keyPassphrase, keepAlive, authentication, credentials }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

/** Where the page of the console finds the broker. */
type BrokerOfConsole = Pick<ServeConsoleOptions, 'brokerUrl' | 'brokerLogin'>

/** Reads the flags about it. Throws {@link Failure} for what makes no sense and what cannot be read. */
function brokerOfConsole(flags: AttachFlags): BrokerOfConsole {
  const { console, consoleBrokerUrl: brokerUrl, consoleBrokerUser: username, consoleBrokerPasswordFile: file } = flags
  checkConsoleFlags(flags, CONSOLE_BROKER)
  if (console !== undefined && brokerUrl === undefined)
    throw new Failure(
      EXIT.usage,
      '--console needs --console-broker-url: its page reads and writes keys at the broker, over WebSocket',
    )
  if (username === undefined && file !== undefined)
    throw new Failure(EXIT.usage, '--console-broker-password-file needs --console-broker-user')
  if (username === undefined) return { brokerUrl }
  const password = contentOf('--console-broker-password-file', file)?.replace(/\r?\n$/, '')
  return { brokerUrl, brokerLogin: { username, ...(password !== undefined && { password }) } }
}
