import type { Command } from 'commander'
import { defer } from 'rxjs'
import { bytes, type Key, type Scan } from '../client/index.js'
import { sameBytes, utf8 } from '../core/util/bytes.js'
import { once } from './connection.js'
import type { ConsoleAddress } from './console-client.js'
import { besideConsole } from './console-facts.js'
import { addConnectionFlags, addConsoleBeside, type ConnectionFlags, type ConsoleFlags } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine, keyMember } from './json.js'
import { type KeyWord, keyLine, shellWord } from './key-text.js'
import { Listing } from './listing.js'
import { listingLines } from './listing-line.js'
import { showProgress } from './progress.js'
import { colorsFor } from './text.js'

interface KeysFlags extends ConnectionFlags, ConsoleFlags {
  readonly count?: true
  readonly verbose?: true
  readonly hex?: true
}

const HELP = `
The glob is matched byte by byte: * any bytes, ? any one, [a-z] one of these, [^a-z] one but these; \\ takes
what follows for itself, so write \\\\ for a \\ in a key. Quote it, or the shell takes it. Keys come in no
particular order.

On a terminal keys are words that can be pasted back into a shell, for get, set, del, vdel and watch; one that
is not text as "\\$'\\xFF\\x00'". Elsewhere there is one per line as it is, which 'get -', 'del -' and 'watch -'
read back. One with line ends, or that is not text, is written as $'two\\nlines' or $'\\xFF\\x00', with --json as
keyHex if it is not text.

-v adds value, version and, if a console is asked, when the key expires, for the protocol does not tell
that; in a narrow terminal there is the value instead of the version. Elsewhere tabs are between them, and
nothing is shortened.
Exit code 1: the store cannot list its keys, as stores without SCAN cannot.

Examples:
  $ rx-statestore keys
  $ rx-statestore keys 'thermostat1/*'
  $ rx-statestore keys 'asset/*' --count
  $ rx-statestore keys -v --console 'http://127.0.0.1:8080/#token=...'
  $ rx-statestore keys 'asset/*' | rx-statestore del -
  $ rx-statestore keys --json | jq -r .key`

const WITHOUT_CONSOLE =
  'when keys expire is left out, as the protocol does not tell it and no console was asked; see --console'

/** Characters that are written at a time. */
const CHUNK = 16_384

/** Adds `keys [GLOB]`. */
export function addKeys(program: Command, io: Io): void {
  const command = program.command('keys').summary('list keys').description('Lists the keys that fit a glob.')
  command.argument('[glob]', 'which keys', '*')
  command.option('--count', 'print only how many there are')
  command.option('-v, --verbose', 'print values and versions, too, and with a console when keys expire')
  command.option('--hex', 'with -v: print values in Base16')
  addConsoleBeside(command)
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async (glob: string) => {
    const flags = command.optsWithGlobals<KeysFlags>()
    if (flags.verbose && !flags.count) await describeAll(glob, flags, io)
    else await once(flags, io, store => defer(async () => list(store.scan(glob, bytes), flags, io)))
  })
}

async function describeAll(glob: string, flags: KeysFlags, io: Io): Promise<void> {
  const { console, url } = await besideConsole(flags, io)
  if (console === undefined) io.stderr.write(`${WITHOUT_CONSOLE}\n`)
  await once({ ...flags, ...url }, io, store =>
    defer(async () => describe(store.scan(glob, bytes), console, flags, io)),
  )
}

/** Asks for more only when all before is written: a reader that is slow, or stops, gets no more than that. */
async function list(scan: Scan<unknown>, { count, json }: KeysFlags, io: Io): Promise<void> {
  const toLine = json ? jsonKey : io.stdout.isTTY ? shellKey : plainKey
  let [seen, chunk] = [0, '']
  // Lines on the same terminal are progress enough.
  const endProgress = count || !io.stdout.isTTY ? showProgress(() => `${seen} keys`, io) : () => undefined
  try {
    for await (const key of scan) {
      seen++
      if (!count) chunk += toLine(wordOf(key))
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

async function describe(
  scan: Scan<Uint8Array>,
  console: ConsoleAddress | undefined,
  { hex, json }: KeysFlags,
  io: Io,
): Promise<void> {
  const { stdout, env } = io
  const style = {
    json: json === true,
    hex: hex === true,
    isTTY: stdout.isTTY === true,
    columns: stdout.columns,
    colors: colorsFor(stdout, env),
  }
  const toLines = listingLines({ ...style, expiry: console !== undefined, now: () => io.clock.now() })
  const listing = new Listing(console)
  const endProgress = stdout.isTTY ? () => undefined : showProgress(() => `${listing.seen} keys`, io)
  try {
    for await (const rows of listing.rowsOf(scan, wordOf)) await print(stdout, toLines(rows))
  } finally {
    endProgress()
  }
}

function wordOf({ name, bytes: raw }: Key<unknown>): KeyWord {
  if (sameBytes(utf8(name), raw)) return name
  return raw
}

const shellKey = (key: KeyWord): string => `${shellWord(key)}\n`
const plainKey = (key: KeyWord): string => `${keyLine(key)}\n`
const jsonKey = (key: KeyWord): string => jsonLine(keyMember(key))
