import type { Command } from 'commander'
import { concatMap, identity, lastValueFrom, merge, Subscription, take, takeUntil } from 'rxjs'
import { bytes, ClosedError, type Entry } from '../index.js'
import { open, refused } from './connection.js'
import { entryLines } from './entry-line.js'
import { addConnectionFlags, type ConnectionFlags, positiveInteger } from './flags.js'
import { type Io, print } from './io.js'
import { entryLine } from './json.js'
import { say, talkOf } from './talk.js'
import { colorsFor } from './text.js'

interface WatchFlags extends ConnectionFlags {
  readonly hex?: true
  readonly count?: number
}

const HELP = `
Prints what each key holds, then one line per change: local time, key, operation, version, value, source.
Operations: set, delete, absent (a read found no such key). Sources: snapshot (the first read), notification,
resync (the read after a reconnect). Long values are shortened, except with --json. What happens to the
connection is told on stderr. Runs until interrupted, with or without a connection.

Examples:
  $ rx-statestore watch 'thermostat1\\setPoint' 'thermostat1\\temperature'
  $ rx-statestore watch alarms --json | jq -r .value`

/** Adds `watch KEY...`. */
export function addWatch(program: Command, io: Io): void {
  const command = program.command('watch').summary('print the changes of keys').description('Prints changes of keys.')
  command.argument('<key...>', 'keys')
  command.option('--count <n>', 'end after so many lines', positiveInteger)
  command.option('--hex', 'print values in Base16')
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (names: readonly string[]) => watch(names, command.optsWithGlobals<WatchFlags>(), io))
}

async function watch(names: readonly string[], flags: WatchFlags, io: Io): Promise<void> {
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

function lineOf(flags: WatchFlags, names: readonly string[], io: Io): (entry: Entry<Uint8Array>) => string {
  const hex = flags.hex === true
  if (flags.json) return entry => entryLine(entry, io.clock.now(), hex)
  const toLine = entryLines(names, { colors: colorsFor(io.stdout, io.env), columns: io.stdout.columns, hex })
  return entry => toLine(entry, io.clock.now())
}
