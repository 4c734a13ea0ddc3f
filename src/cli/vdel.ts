import type { Command } from 'commander'
import { bytes } from '../client/index.js'
import { once } from './connection.js'
import { addFencingToken, type DeleteFlags, deleteOptions, printDeleted } from './del.js'
import { addConnectionFlags, type ValueFlags } from './flags.js'
import type { Io } from './io.js'
import { keyOfWord, nameOf } from './key-text.js'
import { readValue } from './value.js'

const HELP = `
Prints the version of the deletion.
Exit code 3: the key does not hold the value, or there is no such key.

Example:
  $ rx-statestore vdel lock me`

/** Adds `vdel KEY VALUE`. */
export function addVdel(program: Command, io: Io): void {
  const command = program.command('vdel').summary('delete a key if it holds a value')
  command.description('Deletes a key if it holds a value: how a lock is released.')
  command
    .argument('<key>', 'key')
    .argument('[value]', 'value, as text; - for standard input; put -- before another that begins with -')
  addFencingToken(command)
  command.option('--hex', 'the value is Base16').option('-f, --file <file>', 'read the value from a file, - for stdin')
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (word: string, argument: string | undefined) => {
    const key = keyOfWord(word)
    const flags = command.optsWithGlobals<DeleteFlags & ValueFlags>()
    const value = await readValue(argument, flags, io)
    const result = await once(flags, io, store => store.deleteIf(key, value, bytes, deleteOptions(flags)))
    await printDeleted(key, result, flags, `not deleted: ${nameOf(key)} does not hold this value`, io)
  })
}
