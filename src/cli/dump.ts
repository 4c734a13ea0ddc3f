import { type Command, Option } from 'commander'
import { defer } from 'rxjs'
import { reason } from '../base/errors.js'
import { once } from './connection.js'
import { askConsole, CONSOLE_VARIABLE, consoleOf } from './console-client.js'
import { type DumpPiece, piecesOfAnswer, piecesOfDirectory, piecesOfStore } from './dump-source.js'
import { type DumpTarget, openTarget } from './dump-target.js'
import { exitCodeOf, Failure } from './failure.js'
import { addConnectionFlags, addConsoleFlag, type ConnectionFlags, type ConsoleFlags } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { showProgress } from './progress.js'
import { counted } from './text.js'

interface DumpFlags extends ConnectionFlags, ConsoleFlags {
  readonly data?: string
  readonly file?: string
}

const HELP = `
Prints one JSON object per key: key and value as text, or keyBytes and bytes in Base64 where they are not UTF-8,
and version; the console of 'serve --console' adds expiresAt (ms since 1970) and fencingToken, and it all is of
one moment. Without a console the keys are read one by one, from any store that can list them. A file is
written whole or not at all.

Examples:
  $ rx-statestore dump --console 'http://127.0.0.1:8080/#token=...' --file keys.ndjson
  $ ${CONSOLE_VARIABLE}='http://127.0.0.1:8080/#token=...' rx-statestore dump > keys.ndjson
  $ rx-statestore dump --data ./state > keys.ndjson
  $ rx-statestore dump --url mqtt://127.0.0.1:1883 | jq -r .key`

const WITHOUT_CONSOLE = 'expiry and fencing tokens are left out, as no console was asked; see --console'

/** Adds `dump`. */
export function addDump(program: Command, io: Io): void {
  const command = program.command('dump').summary('save all keys').description('Saves all keys as NDJSON.')
  command.option('-f, --file <file>', 'write to a file, - for stdout; then print how many keys there are')
  command.addOption(
    new Option('--data <dir>', 'read the directory of a store that does not run').conflicts(['url', 'console']),
  )
  addConsoleFlag(command)
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async () => dump(command.optsWithGlobals<DumpFlags>(), io))
}

async function dump(flags: DumpFlags, io: Io): Promise<void> {
  const console = consoleOf(flags, io.env)
  const target = await openTarget(flags.file, io)
  const save = new Saving(target)
  // Lines on the same terminal are progress enough.
  const shows = target.name !== undefined || !io.stdout.isTTY
  const endProgress = shows ? showProgress(() => counted(save.keys, 'key'), io) : () => undefined
  try {
    if (flags.data !== undefined) {
      await save.all(piecesOfDirectory(flags.data))
    } else if (console !== undefined) {
      await save.all(piecesOfAnswer(await askConsole(console, 'dump')))
    } else {
      io.stderr.write(`${WITHOUT_CONSOLE}\n`)
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
