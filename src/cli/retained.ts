import { type Command, Option } from 'commander'
import {
  concatMap,
  distinctUntilChanged,
  filter,
  firstValueFrom,
  ignoreElements,
  lastValueFrom,
  map,
  merge,
  type Observable,
  Subscription,
  skipWhile,
  take,
} from 'rxjs'
import type { Credentials, StateStoreError } from '../client/index.js'
import { type RetainedOptions, type RetainedSync, retained } from '../client/retained/index.js'
import { formatUrl } from '../core/util/format-url.js'
import { omitUndefined } from '../core/util/omit-undefined.js'
import { count } from '../core/util/options.js'
import { type CliConnection, credentialsOf, open, optionsOf, urlsOf } from './connection.js'
import { connectionProblems, printMessage } from './connection-messages.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, duration, parserOf } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { shellWord } from './key-text.js'
import { colorsFor } from './terminal.js'

type Direction = NonNullable<RetainedOptions['direction']>

interface RetainedFlags extends ConnectionFlags {
  readonly topic: string
  readonly keys?: string
  readonly from?: string
  readonly direction: Direction
  readonly px?: number
  readonly maxTopics?: number
  readonly maxLevels?: number
}

const HELP = `
Copies retained messages to keys, keys to retained messages, or both, with one
key per topic. The newest value is always copied; values in between may be
skipped. In --keys, {1} stands for the match of the first + of --topic, {2} for
the second, {#} for that of #; each must occur once. An empty message deletes
the key, but a missing message never does. After an outage, both sides are
synchronised again. Runs until interrupted.

The topics are at the broker of the store, unless --from names another broker.
Its user name and password are then taken only from the URL of --from. --key
means --keys if --cert is not set.

Examples:
  $ rx-statestore retained --topic 'plant/+/temp' --keys 'plant/{1}/temp'
  $ rx-statestore retained --from mqtt://plant-broker --topic 'plant/#' --keys 'mirror/{#}' --px 1h
  $ rx-statestore retained --topic 'plant/+/set' --keys 'set/{1}' --direction to-topics`

export function addRetained(program: Command, io: Io): void {
  const command = program.command('retained').summary('keep retained messages and keys equal')
  command.description('Copies retained messages to keys, keys to retained messages, or both.')
  command.requiredOption('--topic <filter>', 'topic filter with + and #')
  command.option('--keys <pattern>', 'keys, with {1}, {2} and {#} for the matches of + and #')
  command.option('--from <url>', 'broker of the topics (else the broker of the store)')
  command.addOption(
    new Option('--direction <name>', 'direction of copying; with both, the topic wins a conflict')
      .choices(['to-keys', 'to-topics', 'both'])
      .default('to-keys'),
  )
  command.option('--px <time>', 'time to live of keys, restarted by each message', duration)
  command.option(
    '--max-topics <n>',
    'maximum topics; messages on others are reported and ignored (100000)',
    parserOf(count),
  )
  command.option(
    '--max-levels <n>',
    'maximum levels of a published topic; other keys are skipped (128)',
    parserOf(count),
  )
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async () => run(command.optsWithGlobals<RetainedFlags>(), io))
}

async function run(flags: RetainedFlags, io: Io): Promise<void> {
  const interrupted = firstValueFrom(io.interrupt$, { defaultValue: undefined })
  const { keys, connecting } = splitFlags(flags)
  const connection = open(connecting, io)
  const subscriptions = new Subscription()
  try {
    const from = flags.from === undefined ? urlsOf(connecting, io) : [flags.from]
    const sync = retained(connection.store, from, optionsFrom(flags, keys, connecting, io))
    const { topic, direction, json = false } = flags
    const synced = { topic, keys, direction, from: from.map(formatUrl).join(' or '), broker: connection.broker }
    const topics = topicsOf(synced)
    subscriptions.add(connectionMessages(connection, sync, topics).subscribe(message => printMessage(message, io)))
    const greeted$ = sync.status$.pipe(
      filter(({ state }) => state === 'live'),
      take(1),
      concatMap(() => greet(sync, synced, json, io)),
      ignoreElements(),
    )
    const last = lastValueFrom(merge(sync.status$, greeted$))
    await Promise.race([interrupted, last])
    await sync.close()
    const end = await last
    if (end.state === 'closed' && end.cause !== undefined)
      throw new Failure(EXIT.failed, `${topics}: ${rootCause(end.cause)}`, { cause: end.cause })
    const { written, published } = sync.stats
    io.stderr.write(`stopped; ${counted(written, 'key')} written, ${counted(published, 'message')} published\n`)
  } finally {
    subscriptions.unsubscribe()
    await connection.store.close()
  }
}

/** Separates the pattern of keys from the connection flags. */
function splitFlags({ keys, key, ...flags }: RetainedFlags): { keys: string; connecting: ConnectionFlags } {
  // Without a certificate, --key is not the private key of a certificate.
  if (keys === undefined && key !== undefined && flags.cert === undefined) return { keys: key, connecting: flags }
  if (keys === undefined) throw new Failure(EXIT.usage, "required option '--keys <pattern>' not specified")
  return { keys, connecting: key === undefined ? flags : { ...flags, key } }
}

function optionsFrom(flags: RetainedFlags, keys: string, connecting: ConnectionFlags, io: Io): RetainedOptions {
  const { topic, direction, px: expiresIn, maxTopics, maxLevels, clientId } = flags
  const { username, password, keepAlive, authentication, credentials, ...tls } = optionsOf(connecting, io)
  const login =
    flags.from === undefined
      ? { username, password, authentication, credentials }
      : {
          credentials: () => tlsOf(credentialsOf(connecting, io.env)),
        }
  const options = { ...login, ...tlsOf(tls), keepAlive }
  return {
    topic,
    keys,
    direction,
    expiresIn,
    ...(maxTopics === undefined ? {} : { maxTopics }),
    ...(maxLevels === undefined ? {} : { maxLevels }),
    clientId: clientId === undefined ? undefined : `${clientId}-topics`,
    connection: omitUndefined(options),
  }
}

const tlsOf = ({ ca, cert, key, keyPassphrase }: Credentials): Credentials => ({ ca, cert, key, keyPassphrase })

interface Synced {
  readonly topic: string
  readonly keys: string
  readonly direction: Direction
  readonly from: string
  readonly broker: string
}

const ARROWS: Readonly<Record<Direction, string>> = { 'to-keys': '→', 'to-topics': '←', both: '↔' }

const topicsOf = ({ topic, from }: Synced): string => `the topics ${shellWord(topic)} at ${from}`

/** Prints one line to stdout when the first synchronisation is complete, for programs that wait for it. */
async function greet(sync: RetainedSync, synced: Synced, json: boolean, io: Io): Promise<void> {
  const { topics } = sync.stats
  const { keys, direction, broker } = synced
  const arrow = colorsFor(io.stdout, io.env).cyan(ARROWS[direction])
  const line = `syncing ${topicsOf(synced)} ${arrow} the keys ${shellWord(keys)} at ${broker}, ${counted(topics, 'topic')} so far\n`
  await print(io.stdout, json ? jsonLine({ ...synced, topics }) : line)
}

function connectionMessages(connection: CliConnection, sync: RetainedSync, topics: string): Observable<string> {
  const live$ = sync.status$.pipe(map(({ state }) => state === 'live'))
  return merge(
    connectionProblems(connection, live$),
    sync.status$.pipe(
      // The start is reported by `greet`.
      skipWhile(({ state }) => state === 'connecting' || state === 'live'),
      map(status => {
        if (status.state === 'live') return `syncing ${topics} again`
        return status.state === 'reconnecting' ? `cannot reach ${topics}, still trying: ${rootCause(status.cause)}` : ''
      }),
      filter(Boolean),
      distinctUntilChanged(),
    ),
    sync.errors$.pipe(
      map(({ message }: StateStoreError) => message),
      distinctUntilChanged(),
    ),
  )
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
