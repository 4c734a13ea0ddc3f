import { type Command, Option } from 'commander'
import { bytes, type Hlc, type SetOptions, type SetResult } from '../client/index.js'
import { once } from './connection.js'
import { EXIT, Failure } from './failure.js'
import {
  addConnectionFlags,
  addFencingToken,
  addValue,
  type ConnectionFlags,
  duration,
  type ValueFlags,
} from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine, jsonTime, keyMember } from './json.js'
import { type KeyArgument, keyOfWord, nameOf } from './key-text.js'
import { oneLine } from './terminal.js'
import { readValue } from './value.js'

interface SetFlags extends ConnectionFlags, ValueFlags {
  readonly nx?: true
  readonly nex?: true
  readonly px?: number
  readonly fencingToken?: Hlc
  readonly persist?: true
}

const HELP = `
Prints the version of the value; for a lock, it is the fencing token.
Exit code 3: the condition did not hold, and nothing was written.

Examples:
  $ rx-statestore set thermostat1/setPoint 21.5
  $ curl -s https://example.org/weather | rx-statestore set weather - --px 10m
  $ rx-statestore set firmware --file firmware.bin --persist
  $ rx-statestore set "\\$'\\xFF\\x00'" 21.5   # as 'keys' prints a key
  $ token=$(rx-statestore set lock me --nex --px 10s)
  $ rx-statestore set line1 on --fencing-token "$token"`

export function addSet(program: Command, io: Io): void {
  const command = program.command('set').summary('write a key').description('Writes a key.')
  addValue(command.argument('<key>', 'key'))
  command.addOption(new Option('--nx', 'only if the key does not exist').conflicts('nex'))
  command.option('--nex', 'only if the key does not exist or already holds this value')
  command.option('--px <time>', 'time to live, such as 500ms, 10s, 1h30m, or a number of ms', duration)
  addFencingToken(command)
  command.option('--persist', 'ask the broker to keep the key on disk')
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (key: string, value: string | undefined) =>
    set(keyOfWord(key), value, command.optsWithGlobals<SetFlags>(), io),
  )
}

async function set(key: KeyArgument, argument: string | undefined, flags: SetFlags, io: Io): Promise<void> {
  const value = await readValue(argument, flags, io)
  const result = await once(flags, io, store => store.set(key, value, bytes, optionsOf(flags)))
  const { applied, version } = result
  if (flags.json) {
    await print(io.stdout, jsonLine({ time: jsonTime(io.clock.now()), ...keyMember(key), op: 'set', applied, version }))
  } else if (applied) {
    await print(io.stdout, `${oneLine(String(version ?? ''))}\n`)
  }
  if (!applied) throw new Failure(EXIT.notMet, flags.json ? '' : rejectionMessage(key, result, flags))
}

const optionsOf = ({ nx, nex, px, fencingToken, persist }: SetFlags): SetOptions => ({
  ...(nx && { ifAbsent: true }),
  ...(nex && { ifAbsentOrEqual: true }),
  ...(px !== undefined && { expiresIn: px }),
  ...(fencingToken && { fencingToken }),
  ...(persist && { persist }),
})

const rejectionMessage = (key: KeyArgument, { version }: SetResult, { nx }: SetFlags): string =>
  `not written: ${nameOf(key)} ${nx ? 'exists' : 'holds another value'}${version ? `, version ${version}` : ''}`
