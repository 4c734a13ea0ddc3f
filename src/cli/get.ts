import { type Command, Option } from 'commander'
import { bytes, type Entry } from '../client/index.js'
import { printAll, requestAll } from './batch-requests.js'
import { once } from './connection.js'
import { shortened } from './entry-line.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, type ValueFlags } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { entryLine } from './json.js'
import { type KeyArgument, keyLine, keysOf, nameOf, shellWord } from './key-text.js'
import { fitColumns, GAP, padTo, tailOf, textWidth } from './terminal.js'
import { STANDARD_STREAM, writeValue } from './value.js'

type GetFlags = ConnectionFlags & ValueFlags

const HELP = `
The value of one key is written byte for byte, followed by a line end on a
terminal. For several keys, each line has a key and its value, in columns on a
terminal, else separated by a tab; line ends are printed as \\n, and bytes that
are not text as 0x and Base16 (--json is exact). - reads keys from standard
input, one per line, in the format of 'keys'. Exit code 3: at least one key does
not exist.

Examples:
  $ rx-statestore get thermostat1/setPoint
  $ rx-statestore get asset/1 asset/2
  $ rx-statestore keys 'asset/*' | rx-statestore get -
  $ rx-statestore get firmware --file firmware.bin
  $ rx-statestore get lock --json`

export function addGet(program: Command, io: Io): void {
  const command = program.command('get').summary('print the values of keys').description('Prints the values of keys.')
  command.argument('<key...>', 'keys, or - for standard input')
  command.option('--hex', 'print Base16')
  command.addOption(new Option('-f, --file <file>', 'write the value to a file, - for stdout').conflicts('json'))
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (args: readonly string[]) => {
    const flags = command.optsWithGlobals<GetFlags>()
    const keys = await keysOf(args, io)
    const [key] = keys
    // The format must not depend on the number of lines on standard input.
    const single = args.length === 1 && args[0] !== STANDARD_STREAM
    if (!single && flags.file !== undefined) throw new Failure(EXIT.usage, '--file requires exactly one key')
    if (single && key !== undefined) await getOne(key, flags, io)
    else await getAll(keys, flags, io)
  })
}

async function getOne(key: KeyArgument, flags: GetFlags, io: Io): Promise<void> {
  const entry = await once(flags, io, store => store.get(key, bytes))
  const asJson = flags.json === true && flags.file === undefined
  if (asJson) await print(io.stdout, entryLine(entry, io.clock.now(), flags.hex === true, key))
  if (entry.op !== 'set') throw new Failure(EXIT.notMet, asJson ? '' : `no such key: ${nameOf(key)}`)
  if (!asJson) await writeValue(entry.value, flags, io)
}

async function getAll(keys: readonly KeyArgument[], flags: GetFlags, io: Io): Promise<void> {
  const answers = await once(flags, io, store => requestAll(keys, key => store.get(key, bytes)))
  const toLine = flags.json ? jsonLines(flags, io) : textLines(keys, flags, io)
  await printAll(answers, toLine, ({ op }) => op !== 'set', flags, io)
}

type ToLine = (key: KeyArgument, entry: Entry<Uint8Array>) => string

const jsonLines =
  ({ hex }: GetFlags, { clock }: Io): ToLine =>
  (key, entry) =>
    entryLine(entry, clock.now(), hex === true, key)

function textLines(keys: readonly KeyArgument[], { hex }: GetFlags, { stdout }: Io): ToLine {
  const { isTTY, columns } = stdout
  if (!isTTY)
    return (key, { value }) =>
      value ? `${keyLine(key)}\t${shortened(value, Number.POSITIVE_INFINITY, hex === true)}\n` : ''
  const widest = keys.reduce((width, key) => Math.max(width, textWidth(shellWord(key))), 0)
  const { keyWidth, valueWidth } = fitColumns(columns, widest, {})
  return (key, { value }) =>
    value
      ? `${padTo(tailOf(shellWord(key), keyWidth), keyWidth)}${GAP}${shortened(value, valueWidth, hex === true)}\n`
      : ''
}
