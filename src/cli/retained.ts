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
import type { StateStoreError } from '../client/index.js'
import { type RetainedOptions, type RetainedSync, retained } from '../client/retained/index.js'
import { count } from '../core/util/options.js'
import { brokerOf, type Connection, open, optionsOf, urlsOf } from './connection.js'
import { say, troubleOf } from './connection-messages.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, duration, parserOf } from './flags.js'
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
Carries what is retained of topics to keys, keys to retained messages, or both, one topic to one key: always the newest
value, those in between not all. {1} in --keys is what the first + of --topic stands for, {2} the second, {#} what # does;
each has to be there once. An empty message is a key that is deleted. That something is missing is never taken for a
deletion. What a cut kept apart is carried afterwards. Runs until interrupted.

The topics are at the broker of the store unless --from names another one, which gets no user name and password but those
in its address. --key without --cert is taken for --keys.

Examples:
  $ rx-statestore retained --topic 'plant/+/temp' --keys 'plant/{1}/temp'
  $ rx-statestore retained --from mqtt://plant-broker --topic 'plant/#' --keys 'mirror/{#}' --px 1h
  $ rx-statestore retained --topic 'plant/+/set' --keys 'set/{1}' --direction to-topics`

/** Adds `retained`. */
export function addRetained(program: Command, io: Io): void {
  const command = program.command('retained').summary('carry retained messages to keys, and back')
  command.description('Lets keys follow the retained messages of topics, or the other way round.')
  command.requiredOption('--topic <filter>', 'topics, as a filter with + and #')
  command.option('--keys <pattern>', 'their keys, with {1}, {2} and {#} for what + and # stand for')
  command.option('--from <url>', 'broker of the topics (else that of the store)')
  command.addOption(
    new Option('--direction <name>', 'what follows what; with both the topic wins where both were changed')
      .choices(['to-keys', 'to-topics', 'both'])
      .default('to-keys'),
  )
  command.option('--px <time>', 'time to live of keys, which begins anew when their topic is published', duration)
  command.option('--max-topics <n>', 'most topics; what comes of others is told and left out (100000)', parserOf(count))
  command.option(
    '--max-levels <n>',
    'most levels of a topic that is published; others are left out (128)',
    parserOf(count),
  )
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async () => run(command.optsWithGlobals<RetainedFlags>(), io))
}

async function run(flags: RetainedFlags, io: Io): Promise<void> {
  const interrupted = firstValueFrom(io.interrupt$, { defaultValue: undefined })
  const { keys, connecting } = told(flags)
  const connection = open(connecting, io)
  const talk = new Subscription()
  try {
    const from = flags.from === undefined ? urlsOf(connecting, io) : [flags.from]
    const sync = retained(connection.store, from, optionsFrom(flags, keys, connecting, io))
    const { topic, direction, json = false } = flags
    const synced = { topic, keys, direction, from: from.map(brokerOf).join(' or '), broker: connection.broker }
    const topics = topicsOf(synced)
    talk.add(connectionMessages(connection, sync, topics).subscribe(words => say(words, io)))
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
    talk.unsubscribe()
    await connection.store.close()
  }
}

/** The pattern of keys, and how to connect without it. */
function told({ keys, key, ...flags }: RetainedFlags): { keys: string; connecting: ConnectionFlags } {
  // A key of a certificate is none without it.
  if (keys === undefined && key !== undefined && flags.cert === undefined) return { keys: key, connecting: flags }
  if (keys === undefined) throw new Failure(EXIT.usage, "required option '--keys <pattern>' not specified")
  return { keys, connecting: key === undefined ? flags : { ...flags, key } }
}

function optionsFrom(flags: RetainedFlags, keys: string, connecting: ConnectionFlags, io: Io): RetainedOptions {
  const { topic, direction, px: expiresIn, maxTopics, maxLevels, clientId } = flags
  const { username, password, ca, cert, key, keyPassphrase, keepAlive, authentication, credentials } = optionsOf(
    connecting,
    io,
  )
  const login = flags.from === undefined ? { username, password, authentication, credentials } : {}
  const wanted = { ...login, ca, cert, key, keyPassphrase, keepAlive }
  return {
    topic,
    keys,
    direction,
    expiresIn,
    ...(maxTopics === undefined ? {} : { maxTopics }),
    ...(maxLevels === undefined ? {} : { maxLevels }),
    clientId: clientId === undefined ? undefined : `${clientId}-topics`,
    connection: Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)),
  }
}

/** What is synced, in words and for --json. */
interface Synced {
  readonly topic: string
  readonly keys: string
  readonly direction: Direction
  readonly from: string
  readonly broker: string
}

const WAYS: Readonly<Record<Direction, string>> = { 'to-keys': '→', 'to-topics': '←', both: '↔' }

const topicsOf = ({ topic, from }: Synced): string => `the topics ${shellWord(topic)} at ${from}`

/** That all has been heard is what others wait for; it is said once. */
async function greet(sync: RetainedSync, synced: Synced, json: boolean, io: Io): Promise<void> {
  const { topics } = sync.stats
  const { keys, direction, broker } = synced
  const way = colorsFor(io.stdout, io.env).cyan(WAYS[direction])
  const line = `syncing ${topicsOf(synced)} ${way} the keys ${shellWord(keys)} at ${broker}, ${counted(topics, 'topic')} so far\n`
  await print(io.stdout, json ? jsonLine({ ...synced, topics }) : line)
}

function connectionMessages(connection: Connection, sync: RetainedSync, topics: string): Observable<string> {
  const live$ = sync.status$.pipe(map(({ state }) => state === 'live'))
  return merge(
    troubleOf(connection, live$),
    sync.status$.pipe(
      // That it begins is said on stdout.
      skipWhile(({ state }) => state === 'connecting' || state === 'live'),
      map(status => {
        if (status.state === 'live') return `carrying ${topics} again`
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
