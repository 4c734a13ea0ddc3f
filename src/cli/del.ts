import type { Command } from 'commander'
import { bytes, type DeleteOptions, type DeleteResult, type Hlc } from '../client/index.js'
import { printAll, requestAll } from './batch-requests.js'
import { once } from './connection.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, addFencingToken, addValue, type ConnectionFlags, type ValueFlags } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine, jsonTime, keyMember } from './json.js'
import { type KeyArgument, keyOfWord, keysOf, nameOf } from './key-text.js'
import { oneLine } from './terminal.js'
import { readValue } from './value.js'

export interface DeleteFlags extends ConnectionFlags {
  readonly fencingToken?: Hlc
}

const HELP = `
Prints the version of each deletion on a line. - reads keys from standard input,
one per line, in the format of 'keys'. A failure for one key does not stop the
others. Exit code 3: at least one key did not exist.

Examples:
  $ rx-statestore del thermostat1/setPoint
  $ rx-statestore del asset/1 asset/2
  $ rx-statestore keys 'asset/*' | rx-statestore del -`

export function addDel(program: Command, io: Io): void {
  const command = program.command('del').summary('delete keys').description('Deletes keys.')
  command.argument('<key...>', 'keys, or - for standard input')
  addFencingToken(command)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (args: readonly string[]) => {
    const flags = command.optsWithGlobals<DeleteFlags>()
    const keys = await keysOf(args, io)
    const answers = await once(flags, io, store => requestAll(keys, key => store.delete(key, deleteOptions(flags))))
    const toLine = (key: KeyArgument, result: DeleteResult): string => lineOf(key, result, flags, io)
    await printAll(answers, toLine, ({ deleted }) => !deleted, flags, io)
  })
}

export const deleteOptions = ({ fencingToken }: DeleteFlags): DeleteOptions => (fencingToken ? { fencingToken } : {})

/** Prints a deletion. Throws {@link Failure} with the message `missing` if there was nothing to delete. */
export async function printDeleted(
  key: KeyArgument,
  result: DeleteResult,
  flags: DeleteFlags,
  missing: string,
  io: Io,
): Promise<void> {
  await print(io.stdout, lineOf(key, result, flags, io))
  if (!result.deleted) throw new Failure(EXIT.notMet, flags.json ? '' : missing)
}

function lineOf(key: KeyArgument, { deleted, version }: DeleteResult, { json }: DeleteFlags, { clock }: Io): string {
  if (json) return jsonLine({ time: jsonTime(clock.now()), ...keyMember(key), op: 'delete', deleted, version })
  return deleted ? `${oneLine(String(version ?? ''))}\n` : ''
}

const VDEL_HELP = `
Prints the version of the deletion.
Exit code 3: the key does not hold the value, or there is no such key.

Example:
  $ rx-statestore vdel lock me`

export function addVdel(program: Command, io: Io): void {
  const command = program.command('vdel').summary('delete a key if it holds a value')
  command.description('Deletes a key if it holds a value, for instance to release a lock.')
  addValue(command.argument('<key>', 'key'))
  addFencingToken(command)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: VDEL_HELP })
  command.action(async (word: string, argument: string | undefined) => {
    const key = keyOfWord(word)
    const flags = command.optsWithGlobals<DeleteFlags & ValueFlags>()
    const value = await readValue(argument, flags, io)
    const result = await once(flags, io, store => store.deleteIf(key, value, bytes, deleteOptions(flags)))
    await printDeleted(key, result, flags, `not deleted: ${nameOf(key)} does not hold this value`, io)
  })
}
