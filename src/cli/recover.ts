import type { Command } from 'commander'
import { ArgumentError, reason } from '../core/util/errors.js'
import { recoverDirectory } from '../server/storage/directory.js'
import { EXIT, Failure } from './failure.js'
import { type Io, print } from './io.js'
import { omissionJson, omissionTable, summaryJson, summaryLines } from './omissions.js'
import { showProgress } from './progress.js'

interface RecoverFlags {
  readonly to: string
  readonly json?: true
}

const HELP = `
For a directory that 'serve' and 'check' refuse as damaged. What is intact is written to a new directory, for
'serve --data'; the old one is not changed. The store must not run meanwhile.

Each record that is left out is listed: its position in the log, its bytes, where they are, and its keys, as far
as damaged bytes can be read. A write behind a gap is left out, too, if it depends on what is missing: it has a
condition (NX, NEX, IFVER, VDEL), it or its key has a fencing token, or it may repeat an earlier write. Keys
written behind a gap get new versions; all else stays as it was.

Exit code 0: everything was recovered. 5: something was left out. 1: nothing could be recovered.

Examples:
  $ rx-statestore recover ./state --to ./recovered
  $ rx-statestore recover ./state --to ./recovered --json | jq -c 'select(.leftOut == "entries")'
  $ rx-statestore check ./recovered`

/** Adds `recover`. */
export function addRecover(program: Command, io: Io): void {
  const command = program.command('recover <dir>').summary('save what is intact in a damaged directory')
  command.description("Writes what is intact in a damaged directory of 'serve --data' to a new one.")
  command.requiredOption('--to <dir>', 'directory to write to; empty, or not there yet')
  command.option('--json', 'print one JSON object per record that is left out, then one with the totals')
  command.addHelpText('after', HELP)
  command.action(async (directory: string) => recover(directory, command.optsWithGlobals<RecoverFlags>(), io))
}

async function recover(directory: string, { to, json }: RecoverFlags, io: Io): Promise<void> {
  let [read, of] = [0, 0]
  const percent = (): number => (of === 0 ? 0 : Math.floor((100 * read) / of))
  const endProgress = showProgress(() => `${percent()} % of ${directory} is read`, io)
  try {
    const report = await recoverDirectory(directory, to, io.clock.now(), progress => ({ read, of } = progress))
    endProgress()
    const text = json
      ? [...report.omissions.map(omissionJson), summaryJson(report)]
      : [...omissionTable(report.omissions, io), ...summaryLines(report, to, io)]
    await print(io.stdout, text.join(''))
    if (report.omissions.length > 0)
      throw new Failure(EXIT.incomplete, `${to} has not all that ${directory} had; what is left out is listed above`)
  } catch (cause) {
    endProgress()
    if (cause instanceof Failure || cause instanceof ArgumentError) throw cause
    throw new Failure(EXIT.failed, `${directory}: ${reason(cause)}`, { cause })
  }
}
