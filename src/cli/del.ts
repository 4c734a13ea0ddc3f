import type { Command } from 'commander'
import type { DeleteOptions, DeleteResult, Hlc } from '../index.js'
import { once } from './connection.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, fencingToken } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine, jsonTime } from './json.js'

/** Flags of commands that delete. */
export interface DeleteFlags extends ConnectionFlags {
  readonly ft?: Hlc
}

const HELP = `
Prints the version of the deletion.
Exit code 3: there was no such key.

Example:
  $ rx-statestore del 'thermostat1\\setPoint'`

/** Adds `del KEY`. */
export function addDel(program: Command, io: Io): void {
  const command = program.command('del').summary('delete a key').description('Deletes a key.')
  command.argument('<key>', 'key')
  addFencingToken(command)
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (key: string) => {
    const flags = command.optsWithGlobals<DeleteFlags>()
    const result = await once(flags, io, store => store.delete(key, deleteOptions(flags)))
    await printDeleted(result, flags, `no such key: ${key}`, io)
  })
}

/** Adds the flag `--ft`. */
export const addFencingToken = (command: Command): Command =>
  command.option('--ft <version>', 'fencing token: the version of the lock that protects the key', fencingToken)

/** Options of a delete as flags say. */
export const deleteOptions = ({ ft }: DeleteFlags): DeleteOptions => (ft ? { fencingToken: ft } : {})

/** Tells what a delete came to; `missing` is why there was nothing to delete. */
export async function printDeleted(result: DeleteResult, flags: DeleteFlags, missing: string, io: Io): Promise<void> {
  const { key, deleted, version } = result
  if (flags.json) {
    await print(io.stdout, jsonLine({ time: jsonTime(io.clock.now()), key, op: 'delete', deleted, version }))
  } else if (deleted) {
    await print(io.stdout, `${version ?? ''}\n`)
  }
  if (!deleted) throw new Failure(EXIT.notMet, flags.json ? '' : missing)
}
