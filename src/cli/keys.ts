import type { Command } from 'commander'
import { defer } from 'rxjs'
import { sameBytes, utf8 } from '../base/bytes.js'
import { bytes, type Key, type Scan } from '../index.js'
import { once } from './connection.js'
import { addConnectionFlags, type ConnectionFlags } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { showProgress } from './progress.js'
import { oneLine } from './text.js'

interface KeysFlags extends ConnectionFlags {
  readonly count?: true
}

const HELP = `
The glob is matched byte by byte: * any bytes, ? any one, [a-z] one of these, [^a-z] one but these; \\ takes what
follows for itself, so write \\\\ for a \\ in a key. Quote it, or the shell takes it. Keys come in no particular
order. One that is not text is printed as 0x and its bytes in Base16, with --json as keyHex.
Exit code 1: the store cannot list its keys, as stores without SCAN cannot.

Examples:
  $ rx-statestore keys
  $ rx-statestore keys 'thermostat1\\\\*'
  $ rx-statestore keys 'asset/*' --count
  $ rx-statestore keys --json | jq -r .key`

/** Characters that are written at a time. */
const CHUNK = 16_384

/** Adds `keys [GLOB]`. */
export function addKeys(program: Command, io: Io): void {
  const command = program.command('keys').summary('list keys').description('Lists the keys that fit a glob.')
  command.argument('[glob]', 'which keys', '*')
  command.option('--count', 'print only how many there are')
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (glob: string) => {
    const flags = command.optsWithGlobals<KeysFlags>()
    await once(flags, io, store => defer(() => list(store.scan(glob, bytes), flags, io)))
  })
}

/** Asks for more only when all before is written: a reader that is slow, or stops, gets no more than that. */
async function list(scan: Scan<unknown>, { count, json }: KeysFlags, io: Io): Promise<void> {
  const toLine = json ? jsonKey : textKey
  let [seen, chunk] = [0, '']
  // Lines on the same terminal are progress enough.
  const endProgress = count || !io.stdout.isTTY ? showProgress(() => `${seen} keys`, io) : () => undefined
  try {
    for await (const key of scan) {
      seen++
      if (!count) chunk += toLine(key)
      if (chunk.length < CHUNK) continue
      await print(io.stdout, chunk)
      chunk = ''
    }
  } finally {
    endProgress()
    await print(io.stdout, chunk)
  }
  if (count) await print(io.stdout, json ? jsonLine({ count: seen }) : `${seen}\n`)
}

const textKey = ({ name }: Key<unknown>): string => `${oneLine(name)}\n`

const jsonKey = (key: Key<unknown>): string =>
  jsonLine(sameBytes(utf8(key.name), key.bytes) ? { key: key.name } : { keyHex: key.id })
