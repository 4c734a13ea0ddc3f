import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { defer } from 'rxjs'
import { reason, StateStoreError } from '../core/util/errors.js'
import { CONSOLE_TOKEN } from '../server/storage/directory.js'
import { once } from './connection.js'
import { askConsole, CONSOLE_VARIABLE, consoleOf } from './console-client.js'
import { type DumpPiece, piecesOfAnswer, piecesOfDirectory, piecesOfStore } from './dump-source.js'
import { type DumpTarget, openTarget } from './dump-target.js'
import { EXIT, exitCodeOf, Failure } from './failure.js'
import { addConnectionFlags, addConsoleFlag, type ConnectionFlags, type ConsoleFlags } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { showProgress } from './progress.js'
import { counted } from './text.js'

interface DumpFlags extends ConnectionFlags, ConsoleFlags {
  readonly data?: string
  readonly file?: string
  readonly partial?: true
}

const HELP = `
Prints one JSON object per key: key and value as text, or keyBytes and bytes in Base64 where they are not UTF-8,
and version; expiresAt (ms since 1970) and fencingToken where there are any. The console of 'serve --console'
knows all of that, of one moment, and so does the directory of a store that does not run. A broker does not:
with --partial the keys that this user may read are read one by one, without expiresAt and fencingToken.
A file is written whole or not at all. The last line has the number of keys and their checksum: 'load' refuses
a dump that was cut.

Examples:
  $ rx-statestore dump --console http://127.0.0.1:8080 --console-token-file state/console-token --file keys.ndjson
  $ ${CONSOLE_VARIABLE}='http://127.0.0.1:8080/#token=...' rx-statestore dump > keys.ndjson
  $ rx-statestore dump --data ./state > keys.ndjson
  $ rx-statestore dump --partial --url mqtt://127.0.0.1:1883 | jq -r '.key // empty'`

const PARTIAL =
  'expiry, fencing tokens and what this user may not read are left out, and keys are not of one moment (--partial)'
const NEEDS_CONSOLE =
  'a broker does not tell expiry, fencing tokens and what this user may not read: name the console with --console, or say ' +
  '--partial'

/** Adds `dump`. */
export function addDump(program: Command, io: Io): void {
  const command = program.command('dump').summary('save all keys').description('Saves all keys as NDJSON.')
  command.option('-f, --file <file>', 'write to a file, - for stdout; then print how many keys there are')
  command.addOption(
    new Option('--data <dir>', 'read the directory of a store that does not run').conflicts(['url', 'console']),
  )
  command.option('--partial', 'leave out what a broker does not tell, where no console is named')
  addConsoleFlag(command)
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async () => dump(command.optsWithGlobals<DumpFlags>(), io))
}

async function dump(flags: DumpFlags, io: Io): Promise<void> {
  const console = consoleOf(flags, io.env)
  if (console === undefined && flags.data === undefined && !flags.partial) throw new Failure(EXIT.usage, NEEDS_CONSOLE)
  const target = await openTarget(flags.file, io)
  const save = new Saving(target)
  // Lines on the same terminal are progress enough.
  const shows = target.name !== undefined || !io.stdout.isTTY
  const endProgress = shows ? showProgress(() => counted(save.keys, 'key'), io) : () => undefined
  try {
    if (flags.data !== undefined) {
      await save.all(piecesOfDirectory(flags.data)).catch(error => {
        throw inUse(error, flags.data ?? '')
      })
    } else if (console !== undefined) {
      await save.all(piecesOfAnswer(await askConsole(console, 'dump')))
    } else {
      io.stderr.write(`${PARTIAL}\n`)
      await once(flags, io, store => defer(async () => save.all(piecesOfStore(store))))
    }
    await target.finish()
  } catch (error) {
    await target.abandon()
    throw save.keys === 0 ? error : brokenOff(error, save.keys)
  } finally {
    endProgress()
  }
  if (target.name !== undefined)
    await print(io.stdout, flags.json ? jsonLine({ keys: save.keys }) : `${counted(save.keys, 'key')}\n`)
}

/** What to do about a store that runs there. */
function inUse(error: unknown, directory: string): unknown {
  if (!(error instanceof StateStoreError) || error.code !== 'in-use') return error
  const token = join(directory, CONSOLE_TOKEN)
  const words =
    `${error.message}: a store runs there. Dump it by its console, which serve --console has: ` +
    `rx-statestore dump --console http://127.0.0.1:8080 --console-token-file ${token}`
  return new Failure(EXIT.failed, words, { cause: error })
}

/** Writes pieces, each when the one before is written. */
class Saving {
  keys = 0
  readonly #target: DumpTarget

  constructor(target: DumpTarget) {
    this.#target = target
  }

  async all(pieces: AsyncIterable<DumpPiece>): Promise<void> {
    for await (const { data, keys } of pieces) {
      await this.#target.write(data)
      this.keys += keys
    }
  }
}

/** A reader of our output must not take a part for the whole. */
function brokenOff(error: unknown, keys: number): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return error
  return new Failure(
    exitCodeOf(error),
    `the dump is not complete, it broke off after ${counted(keys, 'key')}: ${reason(error)}`,
    {
      cause: error,
    },
  )
}
