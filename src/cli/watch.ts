import type { Command } from 'commander'
import { concatMap, identity, lastValueFrom, merge, Subscription, take, takeUntil } from 'rxjs'
import { bytes, type Entry } from '../client/index.js'
import { matching } from '../client/matching/index.js'
import { toHex } from '../core/util/bytes.js'
import { count } from '../core/util/options.js'
import { isEndForGood, open, refused } from './connection.js'
import { connectionMessages, say } from './connection-messages.js'
import { entryLines } from './entry-line.js'
import { addConnectionFlags, type ConnectionFlags, parserOf } from './flags.js'
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

/** What is watched: keys, and all keys that fit globs. */
interface Targets {
  readonly keys: readonly KeyArgument[]
  readonly globs: readonly string[]
}

const HELP = `
Prints what each key holds, then one line per change: local time, key, operation, version, value, source.
Operations: set, delete, expired (a deletion by the time to live; with --json a delete whose reason is
expired), absent (a read found no such key). Sources: snapshot (the first read),
notification, resync (the read after a reconnect). On a terminal long values are shortened, and in a narrow
one other columns are left out first; elsewhere nothing is. What happens to the connection is told on
stderr. Runs until interrupted, with or without a connection. A - stands for keys from standard input, one
per line, as 'keys' prints them.

A word with *, ? or [] is a glob, as 'keys' has them: all keys that fit are watched, those that come included.
Quote it, or the shell takes it. At a store that does not tell of keys by a glob, as others than this one,
new keys are looked for every five seconds.

Examples:
  $ rx-statestore watch thermostat1/setPoint thermostat1/temperature
  $ rx-statestore watch 'sensor/*'
  $ rx-statestore keys 'sensor/*' | rx-statestore watch -
  $ rx-statestore watch alarms --json | jq -r .value`

/** A name that is meant as a glob more likely than as a key. */
const GLOB = /[*?]|\[.+\]/

/** Adds `watch KEY...`. */
export function addWatch(program: Command, io: Io): void {
  const command = program.command('watch').summary('print the changes of keys').description('Prints changes of keys.')
  command.argument('<key...>', 'keys and globs, - for keys from standard input')
  command.option('--count <n>', 'end after so many lines', parserOf(count))
  command.option('--literal', 'take keys with *, ? or [] as they are')
  command.option(
    '--max-keys <n>',
    'with a glob: end with an error when more keys fit (default: 10000)',
    parserOf(count),
  )
  command.option('--hex', 'print values in Base16')
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (words: readonly string[]) => {
    const flags = command.optsWithGlobals<WatchFlags>()
    const isGlob = (word: string): boolean => !flags.literal && GLOB.test(word) && !isQuoted(word)
    const plain = words.filter(word => !isGlob(word))
    const keys = plain.length > 0 ? await keysOf(plain, io) : []
    await watch({ keys, globs: Array.from(new Set(words.filter(isGlob))) }, flags, io)
  })
}

function inWords(keys: readonly KeyArgument[], globs: readonly string[]): string {
  const number = new Set(keys).size
  const single = number === 1 ? 'the key' : `${number} keys`
  const all = globs.length === 0 ? '' : `all keys that fit ${globs.map(shellWord).join(' or ')}`
  return [number > 0 && single, all].filter(Boolean).join(' and ')
}

async function watch({ keys, globs }: Targets, flags: WatchFlags, io: Io): Promise<void> {
  const connection = open(flags, io)
  const { store, broker } = connection
  const talk = new Subscription()
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
    talk.add(
      connectionMessages(connection, watched, inWords(keys, globs)).subscribe({
        next: words => say(words, io),
        error: () => undefined,
      }),
    )
    await done
  } catch (error) {
    throw isEndForGood(error) ? refused(broker, error) : error
  } finally {
    // Before the client ends: what that does to the connection is not news.
    talk.unsubscribe()
    await store.close()
  }
}

function lineOf(flags: WatchFlags, names: readonly KeyArgument[], io: Io): (entry: Entry<Uint8Array>) => string {
  const hex = flags.hex === true
  const wordOf = wordsOf(names)
  if (flags.json) return entry => entryLine(entry, io.clock.now(), hex, wordOf(entry))
  const toLine = entryLines(names, {
    colors: colorsFor(io.stdout, io.env),
    columns: io.stdout.columns,
    hex,
  })
  return entry => toLine(entry, io.clock.now(), wordOf(entry))
}

/** An entry calls a key that is not text by its digits, which are no word for it. */
function wordsOf(names: readonly KeyArgument[]): (entry: Entry<unknown>) => KeyArgument {
  const words = new Map(names.map(name => [typeof name === 'string' ? name : `0x${toHex(name)}`, name]))
  return ({ key }) => words.get(key) ?? key
}
