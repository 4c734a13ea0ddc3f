import type { Command } from 'commander'
import { concatMap, identity, lastValueFrom, merge, Subscription, take, takeUntil } from 'rxjs'
import { bytes, ClosedError, type Entry } from '../index.js'
import { open, refused } from './connection.js'
import { entryLines } from './entry-line.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, positiveInteger } from './flags.js'
import { type Io, print } from './io.js'
import { entryLine } from './json.js'
import { type KeyWord, keysOf, nameOf, shellWord } from './key-text.js'
import { say, talkOf } from './talk.js'
import { colorsFor } from './text.js'

interface WatchFlags extends ConnectionFlags {
  readonly hex?: true
  readonly count?: number
  readonly literal?: true
}

const HELP = `
Prints what each key holds, then one line per change: local time, key, operation, version, value, source.
Operations: set, delete, absent (a read found no such key). Sources: snapshot (the first read),
notification, resync (the read after a reconnect). On a terminal long values are shortened, and in a narrow
one other columns are left out first; elsewhere nothing is. What happens to the connection is told on
stderr. Runs until interrupted, with or without a connection. A - stands for keys from standard input, one
per line, as 'keys' prints them.

Examples:
  $ rx-statestore watch 'thermostat1\\setPoint' 'thermostat1\\temperature'
  $ rx-statestore keys 'sensor/*' | rx-statestore watch -
  $ rx-statestore watch alarms --json | jq -r .value`

/** A name that is meant as a glob more likely than as a key. */
const GLOB = /[*?]|\[.+\]/

/** Adds `watch KEY...`. */
export function addWatch(program: Command, io: Io): void {
  const command = program.command('watch').summary('print the changes of keys').description('Prints changes of keys.')
  command.argument('<key...>', 'keys, - for standard input')
  command.option('--count <n>', 'end after so many lines', positiveInteger)
  command.option('--literal', 'take keys with *, ? or [] as they are')
  command.option('--hex', 'print values in Base16')
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (words: readonly string[]) => {
    const flags = command.optsWithGlobals<WatchFlags>()
    if (!flags.literal) refuseGlobs(words)
    await watch(await keysOf(words, io), flags, io)
  })
}

function refuseGlobs(words: readonly string[]): void {
  const glob = words.find(word => GLOB.test(word))
  if (glob === undefined) return
  const quoted = shellWord(glob)
  throw new Failure(
    EXIT.usage,
    `watch takes keys, and ${glob} looks like a glob: to watch the keys there are now, \`rx-statestore keys ${quoted} | ` +
      'rx-statestore watch -`; to watch the key of that very name, --literal',
  )
}

async function watch(names: readonly KeyWord[], flags: WatchFlags, io: Io): Promise<void> {
  const connection = open(flags, io)
  const { store, broker } = connection
  const talk = new Subscription()
  try {
    const keys = Array.from(new Set(names), name => store.key(name, bytes))
    const toLine = lineOf(flags, names, io)
    const done$ = merge(...keys.map(key => key.entries$)).pipe(
      flags.count === undefined ? identity : take(flags.count),
      concatMap(entry => print(io.stdout, toLine(entry))),
      takeUntil(io.interrupt$),
    )
    const done = lastValueFrom(done$, { defaultValue: undefined })
    talk.add(talkOf(connection, keys).subscribe({ next: words => say(words, io), error: () => undefined }))
    await done
  } catch (error) {
    throw error instanceof ClosedError && error.cause !== undefined ? refused(broker, error) : error
  } finally {
    // Before the client ends: what that does to the connection is no news.
    talk.unsubscribe()
    await store.close()
  }
}

function lineOf(flags: WatchFlags, names: readonly KeyWord[], io: Io): (entry: Entry<Uint8Array>) => string {
  const hex = flags.hex === true
  if (flags.json) return entry => entryLine(entry, io.clock.now(), hex)
  const toLine = entryLines(names.map(nameOf), {
    colors: colorsFor(io.stdout, io.env),
    columns: io.stdout.columns,
    hex,
  })
  return entry => toLine(entry, io.clock.now())
}
