import type { Command } from 'commander'
import { concatMap, identity, lastValueFrom, merge, Subscription, take, takeUntil } from 'rxjs'
import { bytes, type Entry } from '../client/index.js'
import { matching } from '../client/matching/index.js'
import { toHex } from '../core/util/bytes.js'
import { count } from '../core/util/options.js'
import { isPermanentEnd, open, refused } from './connection.js'
import { connectionMessages, printMessage } from './connection-messages.js'
import { entryLines } from './entry-line.js'
import { addConnectionFlags, type ConnectionFlags, parserOf } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { entryLine } from './json.js'
import { isQuoted, type KeyArgument, keysOf, shellWord } from './key-text.js'
import { colorsFor } from './terminal.js'

interface WatchFlags extends ConnectionFlags {
  readonly hex?: true
  readonly count?: number
  readonly literal?: true
  readonly maxKeys?: number
}

interface Targets {
  readonly keys: readonly KeyArgument[]
  readonly globs: readonly string[]
}

const HELP = `
Prints the current value of each key, then a line for each change: local time,
key, operation, version, value, source. Operations: set, delete, expired
(deleted by the time to live; with --json a delete with the reason expired),
absent (a read found no key). Sources: snapshot (the first read), notification,
resync (the read after a reconnect). A narrow terminal drops columns and
shortens values; other output is complete. Connection messages are printed to
stderr. Runs until interrupted, also without a connection. - reads keys from
standard input, one per line, in the format of 'keys'.

An argument with *, ? or [] is a glob as in 'keys', and also matches keys that
are created later. Quote it, so that the shell does not expand it. Stores other
than this one do not support watching globs; for those, new keys are discovered
every five seconds.

Examples:
  $ rx-statestore watch thermostat1/setPoint thermostat1/temperature
  $ rx-statestore watch 'sensor/*'
  $ rx-statestore keys 'sensor/*' | rx-statestore watch -
  $ rx-statestore watch alarms --json | jq -r .value`

/** Matches a name that is more likely a glob than a key. */
const GLOB = /[*?]|\[.+\]/

export function addWatch(program: Command, io: Io): void {
  const command = program.command('watch').summary('print the changes of keys').description('Prints changes of keys.')
  command.argument('<key...>', 'keys and globs, or - for keys from standard input')
  command.option('--count <n>', 'exit after n lines', parserOf(count))
  command.option('--literal', 'treat arguments with *, ? or [] as keys')
  command.option('--max-keys <n>', 'with a glob: fail if more keys match (10000)', parserOf(count))
  command.option('--hex', 'print values in Base16')
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (args: readonly string[]) => {
    const flags = command.optsWithGlobals<WatchFlags>()
    const isGlob = (word: string): boolean => !flags.literal && GLOB.test(word) && !isQuoted(word)
    const plain = args.filter(word => !isGlob(word))
    const keys = plain.length > 0 ? await keysOf(plain, io) : []
    await watch({ keys, globs: Array.from(new Set(args.filter(isGlob))) }, flags, io)
  })
}

function inWords(keys: readonly KeyArgument[], globs: readonly string[]): string {
  const number = new Set(keys).size
  const single = number === 1 ? 'the key' : `${number} keys`
  const all = globs.length === 0 ? '' : `all keys that match ${globs.map(shellWord).join(' or ')}`
  return [number > 0 && single, all].filter(Boolean).join(' and ')
}

async function watch({ keys, globs }: Targets, flags: WatchFlags, io: Io): Promise<void> {
  const connection = open(flags, io)
  const { store, broker } = connection
  const subscriptions = new Subscription()
  try {
    const { maxKeys } = flags
    const watched = [
      ...Array.from(new Set(keys), name => store.key(name, bytes)),
      ...globs.map(glob => matching(store, glob, bytes, maxKeys === undefined ? {} : { maxKeys })),
    ]
    const toLine = lineOf(flags, keys, io)
    const done$ = merge(...watched.map(one => one.entries$)).pipe(
      flags.count === undefined ? identity : take(flags.count),
      concatMap(entry => print(io.stdout, toLine(entry))),
      takeUntil(io.interrupt$),
    )
    const done = lastValueFrom(done$, { defaultValue: undefined })
    subscriptions.add(
      connectionMessages(connection, watched, inWords(keys, globs)).subscribe({
        next: message => printMessage(message, io),
        error: () => undefined,
      }),
    )
    await done
  } catch (error) {
    throw isPermanentEnd(error) ? refused(broker, error) : error
  } finally {
    // Unsubscribes before the client is closed, because the end would be reported as a lost connection.
    subscriptions.unsubscribe()
    await store.close()
  }
}

function lineOf(flags: WatchFlags, names: readonly KeyArgument[], io: Io): (entry: Entry<Uint8Array>) => string {
  const hex = flags.hex === true
  const wordOf = wordsOf(names)
  if (flags.json) return entry => entryLine(entry, io.clock.now(), hex, wordOf(entry))
  const toLine = entryLines(names, {
    colors: colorsFor(io.stdout, io.env),
    hex,
    get columns() {
      return io.stdout.columns
    },
  })
  return entry => toLine(entry, io.clock.now(), wordOf(entry))
}

/**
 * Returns a function that maps an entry to the argument for its key. In entries, keys that are not text have a
 * hexadecimal name.
 */
function wordsOf(names: readonly KeyArgument[]): (entry: Entry<unknown>) => KeyArgument {
  const keysByText = new Map(names.map(name => [typeof name === 'string' ? name : `0x${toHex(name)}`, name]))
  return ({ key }) => keysByText.get(key) ?? key
}
