import type { Command } from 'commander'
import { defer, firstValueFrom } from 'rxjs'
import { bytes, type Entry, type Key, type Scan } from '../client/index.js'
import { sameBytes, utf8 } from '../core/util/bytes.js'
import type { KeyFacts } from '../server/console/contract.js'
import { requestAll } from './batch-requests.js'
import { once } from './connection.js'
import { askConsole, type ConsoleAddress, locateConsole, textOf } from './console-client.js'
import { shortened } from './entry-line.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, addConsoleBeside, type ConnectionFlags, type ConsoleFlags, inUnits } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine, keyMember, valueMember } from './json.js'
import { type KeyArgument, keyLine, shellWord } from './key-text.js'
import { type Colors, colorsFor, fitColumns, GAP, showProgress } from './terminal.js'

interface KeysFlags extends ConnectionFlags, ConsoleFlags {
  readonly count?: true
  readonly verbose?: true
  readonly hex?: true
}

const HELP = `
The glob is matched byte by byte: * any bytes, ? one byte, [a-z] one of these,
[^a-z] none of these; \\ escapes the next byte, so \\\\ matches a \\. Quote it,
so that the shell does not expand it. Keys are not sorted.

On a terminal, keys are quoted so that they can be pasted into a shell; one that
is not text is printed as "\\$'\\xFF\\x00'". Otherwise each line has a key,
which 'get -', 'del -' and 'watch -' read back; a key with line ends or that is
not text is printed as $'two\\nlines' or $'\\xFF\\x00', with --json as keyHex if
it is not text.

-v adds value and version, and with --console the expiry, which a broker does
not provide. A narrow terminal drops the version. Otherwise columns are
separated by tabs, and nothing is shortened.
Exit code 1: the store cannot list its keys, because it does not support SCAN.

Examples:
  $ rx-statestore keys
  $ rx-statestore keys 'thermostat1/*'
  $ rx-statestore keys 'asset/*' --count
  $ rx-statestore keys -v --console 'http://127.0.0.1:8080/#token=...'
  $ rx-statestore keys 'asset/*' | rx-statestore del -
  $ rx-statestore keys --json | jq -r .key`

const WITHOUT_CONSOLE = 'without --console, the expiry of keys is not available'

/** Number of characters per write. */
const CHUNK = 16_384

export function addKeys(program: Command, io: Io): void {
  const command = program.command('keys').summary('list keys').description('Lists the keys that match a glob.')
  command.argument('[glob]', 'pattern of keys', '*')
  command.option('--count', 'print only the number of keys')
  command.option('-v, --verbose', 'also print values, versions and, with --console, the expiry')
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
  const { console, url } = await locateConsole(flags, io)
  if (console === undefined) io.stderr.write(`${WITHOUT_CONSOLE}\n`)
  await once({ ...flags, ...url }, io, store =>
    defer(async () => describe(store.scan(glob, bytes), console, flags, io)),
  )
}

/** Scans at the pace of the reader: the next page is requested once the previous one has been written. */
async function list(scan: Scan<unknown>, { count, json }: KeysFlags, io: Io): Promise<void> {
  const toLine = json ? jsonKey : io.stdout.isTTY ? shellKey : plainKey
  let [keyCount, chunk] = [0, '']
  const endProgress = count || !io.stdout.isTTY ? showProgress(() => `${keyCount} keys`, io) : () => undefined
  try {
    for await (const key of scan) {
      keyCount++
      if (!count) chunk += toLine(wordOf(key))
      if (chunk.length < CHUNK) continue
      await print(io.stdout, chunk)
      chunk = ''
    }
  } finally {
    endProgress()
    await print(io.stdout, chunk)
  }
  if (count) await print(io.stdout, json ? jsonLine({ count: keyCount }) : `${keyCount}\n`)
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
  const listing = new KeyListing(console)
  const endProgress = stdout.isTTY ? () => undefined : showProgress(() => `${listing.keyCount} keys`, io)
  try {
    for await (const rows of listing.rowsOf(scan, wordOf)) await print(stdout, toLines(rows))
  } finally {
    endProgress()
  }
}

function wordOf({ name, bytes: raw }: Key<unknown>): KeyArgument {
  if (sameBytes(utf8(name), raw)) return name
  return raw
}

const shellKey = (key: KeyArgument): string => `${shellWord(key)}\n`
const plainKey = (key: KeyArgument): string => `${keyLine(key)}\n`
const jsonKey = (key: KeyArgument): string => jsonLine(keyMember(key))

export interface Row {
  readonly key: KeyArgument
  readonly value: Uint8Array
  readonly version: string | undefined
  /**
   * Time of expiry by the store's clock, ms since the Unix epoch; `undefined` if the key does not expire or no console
   * was queried.
   */
  readonly expiresAt: number | undefined
}

const BATCH = 128

/** Reads values and expiry of keys in batches. Keys that are deleted in the meantime are omitted. */
export class KeyListing {
  /** Number of rows returned so far. */
  keyCount = 0
  readonly #console: ConsoleAddress | undefined

  /** @param console - provides the expiry of keys */
  constructor(console: ConsoleAddress | undefined) {
    this.#console = console
  }

  async *rowsOf(
    scan: AsyncIterable<Key<Uint8Array>>,
    wordOf: (key: Key<unknown>) => KeyArgument,
  ): AsyncGenerator<readonly Row[], void> {
    let batch: Key<Uint8Array>[] = []
    for await (const key of scan) {
      batch.push(key)
      if (batch.length < BATCH) continue
      yield await this.#read(batch, wordOf)
      batch = []
    }
    yield await this.#read(batch, wordOf)
  }

  async #read(keys: readonly Key<Uint8Array>[], wordOf: (key: Key<unknown>) => KeyArgument): Promise<readonly Row[]> {
    if (keys.length === 0) return []
    const [entries, expiry] = await Promise.all([readAll(keys), this.#expiryOf(keys)])
    const rows = keys.flatMap((key, index) => {
      const { value, version } = entries[index] ?? {}
      if (value === undefined) return []
      return [{ key: wordOf(key), value, version: version && String(version), expiresAt: expiry.get(key.id) }]
    })
    this.keyCount += rows.length
    return rows
  }

  async #expiryOf(keys: readonly Key<unknown>[]): Promise<ReadonlyMap<string, number | undefined>> {
    if (this.#console === undefined) return new Map()
    const body = utf8(JSON.stringify({ ids: keys.map(({ id }) => id) }))
    const answer = await textOf(await askConsole(this.#console, 'keys', [body]), Number.POSITIVE_INFINITY)
    return new Map(factsIn(answer).map(({ id, expiresAt }) => [id, expiresAt]))
  }
}

async function readAll(keys: readonly Key<Uint8Array>[]): Promise<readonly Entry<Uint8Array>[]> {
  const answers = await firstValueFrom(requestAll(keys, key => key.get()))
  return answers.map(answer => {
    if ('error' in answer) throw answer.error
    return answer.result
  })
}

function factsIn(answer: string): readonly KeyFacts[] {
  const { keys }: { readonly keys?: readonly KeyFacts[] } = JSON.parse(answer)
  if (keys === undefined) throw new Failure(EXIT.failed, 'the response of the console has no keys')
  return keys
}

export interface ListingStyle {
  readonly json: boolean
  /** Whether values are shown in Base16. */
  readonly hex: boolean
  readonly isTTY: boolean
  /** Width of the terminal. */
  readonly columns: number | undefined
  readonly colors: Colors
  /** Whether the expiry of keys is known. */
  readonly expiry: boolean
  /** Returns the time, ms since the Unix epoch. */
  now(): number
}

const NEVER = '-'
const VERSION_WIDTH = '1696374425000:0:StateStore'.length
const EXPIRY_WIDTH = '23h 59m'.length

/** Returns a formatter of rows. On a terminal, columns stay aligned across calls. */
export function listingLines(style: ListingStyle): (rows: readonly Row[]) => string {
  if (style.json) return rows => rows.map(row => jsonOf(row, style)).join('')
  return style.isTTY ? inColumns(style) : rows => rows.map(row => withTabs(row, style)).join('')
}

const jsonOf = ({ key, value, version, expiresAt }: Row, { hex }: ListingStyle): string =>
  jsonLine({ ...keyMember(key), ...valueMember(value, hex), version, expiresAt })

function withTabs({ key, value, version = NEVER, expiresAt }: Row, { hex, expiry }: ListingStyle): string {
  const cells = [keyLine(key), shortened(value, Number.POSITIVE_INFINITY, hex), version]
  if (expiry) cells.push(expiresAt === undefined ? NEVER : new Date(expiresAt).toISOString())
  return `${cells.join('\t')}\n`
}

function inColumns({ columns, colors, expiry, hex, now }: ListingStyle): (rows: readonly Row[]) => string {
  let [keyWidth, valueWidth, expiryWidth] = [0, 0, EXPIRY_WIDTH]
  return rows => {
    const cells = rows.map(({ key, value, version = NEVER, expiresAt }) => ({
      key: shellWord(key),
      value,
      version,
      expiry: expiresAt === undefined ? NEVER : inUnits(expiresAt - now()),
    }))
    keyWidth = cells.reduce((width, { key }) => Math.max(width, key.length), keyWidth)
    expiryWidth = cells.reduce((width, cell) => Math.max(width, cell.expiry.length), expiryWidth)
    const { columns: visibleColumns, valueWidth: room } = fitColumns(columns, keyWidth, {
      expiry: expiry ? expiryWidth : undefined,
      version: VERSION_WIDTH,
    })
    const lines = cells.map(cell => ({ ...cell, value: shortened(cell.value, room, hex) }))
    valueWidth = lines.reduce((width, { value }) => Math.max(width, value.length), valueWidth)
    const lineOf = (line: (typeof lines)[number]): string =>
      [
        line.key.padEnd(keyWidth),
        colors.bold(visibleColumns.size > 0 ? line.value.padEnd(valueWidth) : line.value),
        visibleColumns.has('expiry') &&
          colors.yellow(visibleColumns.has('version') ? line.expiry.padEnd(expiryWidth) : line.expiry),
        visibleColumns.has('version') && colors.dim(line.version),
      ]
        .filter(cell => cell !== false)
        .join(GAP)
    return lines.map(line => `${lineOf(line)}\n`).join('')
  }
}
