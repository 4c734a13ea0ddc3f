import { type Command, Option } from 'commander'
import { bytes } from '../index.js'
import { once } from './connection.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, type ValueFlags } from './flags.js'
import { type Io, print } from './io.js'
import { entryLine } from './json.js'
import { writeValue } from './value.js'

const HELP = `
The value is written byte by byte as it is stored; only on a terminal a line end follows it.
Exit code 3: there is no such key.

Examples:
  $ rx-statestore get 'thermostat1\\setPoint'
  $ rx-statestore get firmware --file firmware.bin
  $ rx-statestore get lock --json`

/** Adds `get KEY`. */
export function addGet(program: Command, io: Io): void {
  const command = program.command('get').summary('print the value of a key').description('Prints the value of a key.')
  command.argument('<key>', 'key')
  command.option('--hex', 'print Base16')
  command.addOption(new Option('-f, --file <file>', 'write the value to a file, - for stdout').conflicts('json'))
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (key: string) => get(key, command.optsWithGlobals<ConnectionFlags & ValueFlags>(), io))
}

async function get(key: string, flags: ConnectionFlags & ValueFlags, io: Io): Promise<void> {
  const entry = await once(flags, io, store => store.get(key, bytes))
  const asJson = flags.json === true && flags.file === undefined
  if (asJson) await print(io.stdout, entryLine(entry, io.clock.now(), flags.hex === true))
  if (entry.op !== 'set') throw new Failure(EXIT.notMet, asJson ? '' : `no such key: ${key}`)
  if (!asJson) await writeValue(entry.value, flags, io)
}
