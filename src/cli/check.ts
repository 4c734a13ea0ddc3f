import type { Command } from 'commander'
import { reason } from '../core/util/errors.js'
import { checkDirectory } from '../server/storage/directory.js'
import { EXIT, Failure } from './failure.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { counted, oneLine, showProgress } from './terminal.js'

const HELP = `
Reads every record and compares it with its checksum; nothing is changed. The store must not run meanwhile. Exit
code 0: all that was ever answered is there. 1: it is not, or this is not such a directory.

Example:
  $ rx-statestore check ./state`

/** Adds `check`. */
export function addCheck(program: Command, io: Io): void {
  const command = program.command('check <dir>').summary('verify the directory of a store')
  command.description("Verifies the directory of 'serve --data'.")
  command.option('--json', 'print what was found as a JSON object')
  command.addHelpText('after', HELP)
  command.action(async (directory: string) => check(directory, command.optsWithGlobals<{ json?: true }>(), io))
}

async function check(directory: string, { json }: { readonly json?: true }, io: Io): Promise<void> {
  let read = 0
  const endProgress = showProgress(() => `${Math.floor(read / 1024 / 1024)} MiB are read`, io)
  try {
    const report = await checkDirectory(directory, progress => {
      read = progress.read
    })
    endProgress()
    const { keys, stateKeys, entries, torn, position, strays } = report
    const words = [
      `${counted(keys, 'key')} at position ${position}: a state of ${counted(stateKeys, 'key')} and ${entries} ${entries === 1 ? 'entry' : 'entries'} behind it`,
      ...(torn > 0 ? [`${counted(torn, 'byte')} at the end were being written and never answered`] : []),
      ...strays.map(name => `${oneLine(name)} was ignored: no state store made it`),
      'all is as it was written',
    ]
    await print(io.stdout, json ? jsonLine({ ...report }) : `${words.join('\n')}\n`)
  } catch (cause) {
    endProgress()
    throw new Failure(EXIT.failed, `${directory}: ${reason(cause)}`, { cause })
  }
}
