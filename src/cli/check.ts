import type { Command } from 'commander'
import { reason } from '../core/util/errors.js'
import { checkDirectory } from '../server/storage/directory.js'
import { EXIT, Failure } from './failure.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { counted, oneLine, showProgress } from './terminal.js'

const HELP = `
Reads every record and verifies its checksum; changes nothing. The store must
not be running. Exit code 0: every acknowledged write is present. 1: data is
damaged or missing, or this is not the directory of a store.

Example:
  $ rx-statestore check ./state`

export function addCheck(program: Command, io: Io): void {
  const command = program.command('check <dir>').summary('verify the directory of a store')
  command.description("Verifies the directory of 'serve --data'.")
  command.option('--json', 'print the result as a JSON object')
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (directory: string) => check(directory, command.optsWithGlobals<{ json?: true }>(), io))
}

async function check(directory: string, { json }: { readonly json?: true }, io: Io): Promise<void> {
  let read = 0
  const endProgress = showProgress(() => `${Math.floor(read / 1024 / 1024)} MiB read`, io)
  try {
    const report = await checkDirectory(directory, progress => {
      read = progress.read
    })
    endProgress()
    const { keys, stateKeys, entries, torn, position, strays } = report
    const summary = [
      `${counted(keys, 'key')} at position ${position}: a snapshot of ${counted(stateKeys, 'key')} and ${counted(entries, 'later entry', 'later entries')}`,
      ...(torn > 0
        ? [`${counted(torn, 'byte')} at the end are from an unfinished write that was never acknowledged`]
        : []),
      ...strays.map(name => `${oneLine(name)} was ignored: it is not a file of a state store`),
      'no damage found',
    ]
    await print(io.stdout, json ? jsonLine({ ...report }) : `${summary.join('\n')}\n`)
  } catch (cause) {
    endProgress()
    throw new Failure(EXIT.failed, `${directory}: ${reason(cause)}`, { cause })
  }
}
