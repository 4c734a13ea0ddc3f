import type { Command } from 'commander'
import { createColors } from 'picocolors'
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
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine, keyMember, valueMember } from './json.js'
import { type KeyArgument, keyLine, shellWord } from './key-text.js'
import {
  type Colors,
  colorsFor,
  fitColumns,
  GAP,
  naturalOrder,
  padTo,
  showProgress,
  tailOf,
  textWidth,
} from './terminal.js'

interface KeysFlags extends ConnectionFlags, ConsoleFlags {
  readonly count?: true
  readonly verbose?: true
  readonly hex?: true
}

const HELP = `
The glob is matched byte by byte: * any bytes, ? one byte, [a-z] one of these,
[^a-z] none of these; \\ escapes the next byte, so \\\\ matches a \\. Quote it,
so that the shell does not expand it. On a terminal, keys are sorted; otherwise
they are printed while they are found, in no order.

On a terminal, keys are quoted for use in a shell; a key that
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
const KEYS_PER_WRITE = 1_000

export function addKeys(program: Command, io: Io): void {
  const command = program.command('keys').summary('list keys').description('Lists the keys that match a glob.')
  command.argument('[glob]', 'pattern of keys', '*')
  command.option('--count', 'print only the number of keys')
  command.option('-v, --verbose', 'also print values, versions and, with --console, the expiry')
  command.option('--hex', 'with -v: print values in Base16')
  addConsoleBeside(command)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
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

/**
 * Scans at the pace of the reader: the next page is requested once the previous one has been written. On a terminal,
 * all keys are read first, to sort them.
 */
async function list(scan: Scan<unknown>, { count, json }: KeysFlags, io: Io): Promise<void> {
  if (!count && isTable(json, io)) return listSorted(scan, io)
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

const isTable = (json: true | undefined, { stdout }: Io): boolean => !json && stdout.isTTY === true

async function listSorted(scan: Scan<unknown>, io: Io): Promise<void> {
  const keys = await sortedKeys(scan, io)
  if (keys.length === 0) return
  await print(io.stdout, `${colorsFor(io.stdout, io.env).dim('KEY')}\n`)
  for (let at = 0; at < keys.length; at += KEYS_PER_WRITE) {
    const page = keys.slice(at, at + KEYS_PER_WRITE)
    await print(io.stdout, page.map(key => shellKey(wordOf(key))).join(''))
  }
}

/** Reads all keys of a scan and sorts them in natural order. */
async function sortedKeys<T>(scan: Scan<T>, io: Io): Promise<readonly Key<T>[]> {
  const keys: Key<T>[] = []
  const endProgress = showProgress(() => `${keys.length} keys`, io)
  try {
    for await (const key of scan) keys.push(key)
  } finally {
    endProgress()
  }
  return keys.sort((a, b) => naturalOrder(a.name, b.name))
}

async function describe(
  scan: Scan<Uint8Array>,
  console: ConsoleAddress | undefined,
  { hex, json }: KeysFlags,
  io: Io,
): Promise<void> {
  const { stdout, env } = io
  const style: ListingStyle = {
    json: json === true,
    hex: hex === true,
    isTTY: stdout.isTTY === true,
    get columns() {
      return stdout.columns
    },
    colors: colorsFor(stdout, env),
    expiry: console !== undefined,
    now: () => io.clock.now(),
  }
  const toLines = listingLines(style)
  const listing = new KeyListing(console)
  const keys = isTable(json, io) ? await sortedKeys(scan, io) : scan
  const endProgress = stdout.isTTY ? () => undefined : showProgress(() => `${listing.keyCount} keys`, io)
  try {
    for await (const rows of listing.rowsOf(keys, wordOf)) await print(stdout, toLines(rows))
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
    scan: AsyncIterable<Key<Uint8Array>> | Iterable<Key<Uint8Array>>,
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
  /** Width of the terminal, which may change. */
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

const HEADER = { key: 'KEY', value: 'VALUE', expiry: 'EXPIRES', version: 'VERSION' }

function inColumns(style: ListingStyle): (rows: readonly Row[]) => string {
  const { colors, expiry, hex, now } = style
  let isFirst = true
  let [keyWidth, valueWidth] = [HEADER.key.length, HEADER.value.length]
  let [expiryWidth, versionWidth] = [EXPIRY_WIDTH, VERSION_WIDTH]
  return rows => {
    if (rows.length === 0) return ''
    const cells = rows.map(({ key, value, version = NEVER, expiresAt }) => ({
      key: shellWord(key),
      value,
      version,
      expiry: expiresAt === undefined ? NEVER : inUnits(expiresAt - now()),
    }))
    keyWidth = cells.reduce((width, { key }) => Math.max(width, textWidth(key)), keyWidth)
    expiryWidth = cells.reduce((width, cell) => Math.max(width, cell.expiry.length), expiryWidth)
    versionWidth = cells.reduce((width, { version }) => Math.max(width, version.length), versionWidth)
    const fitted = fitColumns(style.columns, keyWidth, {
      expiry: expiry ? expiryWidth : undefined,
      version: versionWidth,
    })
    const lines = cells.map(cell => ({ ...cell, value: shortened(cell.value, fitted.valueWidth, hex) }))
    valueWidth = lines.reduce((width, { value }) => Math.max(width, textWidth(value)), valueWidth)
    valueWidth = Math.min(valueWidth, fitted.valueWidth)
    const has = (column: 'expiry' | 'version'): boolean => fitted.columns.has(column)
    const lineOf = (line: (typeof lines)[number], { bold, yellow, dim }: Colors): string =>
      [
        padTo(tailOf(line.key, fitted.keyWidth), fitted.keyWidth),
        bold(fitted.columns.size > 0 ? padTo(line.value, valueWidth) : line.value),
        has('expiry') && yellow(has('version') ? line.expiry.padEnd(expiryWidth) : line.expiry),
        has('version') && dim(line.version),
      ]
        .filter(cell => cell !== false)
        .join(GAP)
    const header = isFirst ? `${colors.dim(lineOf(HEADER, createColors(false)).trimEnd())}\n` : ''
    isFirst = false
    return header + lines.map(line => `${lineOf(line, colors)}\n`).join('')
  }
}
