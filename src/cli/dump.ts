import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { defer, from, lastValueFrom, mergeMap, toArray } from 'rxjs'
import { bytes, type Entry, type Key, type StateStore } from '../client/index.js'
import { randomBytes, toHex } from '../core/util/bytes.js'
import { reason, StateStoreError } from '../core/util/errors.js'
import { type DumpLine, DumpWriter, toDumpLine } from '../node/dump/codec.js'
import { CONSOLE_TOKEN, readDirectory } from '../server/storage/directory.js'
import { once } from './connection.js'
import { askConsole, CONSOLE_VARIABLE, consoleOf } from './console-client.js'
import { EXIT, exitCodeOf, Failure } from './failure.js'
import { addConnectionFlags, addConsoleFlag, type ConnectionFlags, type ConsoleFlags } from './flags.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { counted, linesIn, showProgress } from './terminal.js'

interface DumpFlags extends ConnectionFlags, ConsoleFlags {
  readonly data?: string
  readonly file?: string
  readonly partial?: true
}

const HELP = `
Prints one JSON object per key: key and value as text, or keyBytes and bytes in Base64 where they are not UTF-8,
and version; expiresAt (ms since 1970) and fencingToken where there are any. The console of 'serve --console'
knows all of that, of one moment, and so does the directory of a store that does not run. A broker does not:
with --partial the keys that this user may read are read one by one, without expiresAt and fencingToken.
A file is written whole or not at all. The last line has the number of keys and their checksum: 'load' refuses
a dump that was cut.

Examples:
  $ rx-statestore dump --console http://127.0.0.1:8080 --console-token-file state/console-token --file keys.ndjson
  $ ${CONSOLE_VARIABLE}='http://127.0.0.1:8080/#token=...' rx-statestore dump > keys.ndjson
  $ rx-statestore dump --data ./state > keys.ndjson
  $ rx-statestore dump --partial --url mqtt://127.0.0.1:1883 | jq -r '.key // empty'`

const PARTIAL =
  'expiry, fencing tokens and what this user may not read are left out, and keys are not of one moment (--partial)'
const NEEDS_CONSOLE =
  'a broker does not tell expiry, fencing tokens and what this user may not read: name the console with --console, or say ' +
  '--partial'

/** Adds `dump`. */
export function addDump(program: Command, io: Io): void {
  const command = program.command('dump').summary('save all keys').description('Saves all keys as NDJSON.')
  command.option('-f, --file <file>', 'write to a file, - for stdout; then print how many keys there are')
  command.addOption(
    new Option('--data <dir>', 'read the directory of a store that does not run').conflicts(['url', 'console']),
  )
  command.option('--partial', 'leave out what a broker does not tell, where no console is named')
  addConsoleFlag(command)
  addConnectionFlags(command, false)
  command.addHelpText('after', HELP)
  command.action(async () => dump(command.optsWithGlobals<DumpFlags>(), io))
}

async function dump(flags: DumpFlags, io: Io): Promise<void> {
  const console = consoleOf(flags, io.env)
  if (console === undefined && flags.data === undefined && !flags.partial) throw new Failure(EXIT.usage, NEEDS_CONSOLE)
  const target = await openTarget(flags.file, io)
  const save = new Saving(target)
  // Lines on the same terminal are progress enough.
  const shows = target.name !== undefined || !io.stdout.isTTY
  const endProgress = shows ? showProgress(() => counted(save.keys, 'key'), io) : () => undefined
  try {
    if (flags.data !== undefined) {
      await save.all(piecesOfDirectory(flags.data)).catch(error => {
        throw inUse(error, flags.data ?? '')
      })
    } else if (console !== undefined) {
      await save.all(piecesOfAnswer(await askConsole(console, 'dump')))
    } else {
      io.stderr.write(`${PARTIAL}\n`)
      await once(flags, io, store => defer(async () => save.all(piecesOfStore(store))))
    }
    await target.finish()
  } catch (error) {
    await target.abandon()
    throw save.keys === 0 ? error : brokenOff(error, save.keys)
  } finally {
    endProgress()
  }
  if (target.name !== undefined)
    await print(io.stdout, flags.json ? jsonLine({ keys: save.keys }) : `${counted(save.keys, 'key')}\n`)
}

/** What to do about a store that runs there. */
function inUse(error: unknown, directory: string): unknown {
  if (!(error instanceof StateStoreError) || error.code !== 'in-use') return error
  const token = join(directory, CONSOLE_TOKEN)
  const words =
    `${error.message}: a store runs there. Dump it by its console, which serve --console has: ` +
    `rx-statestore dump --console http://127.0.0.1:8080 --console-token-file ${token}`
  return new Failure(EXIT.failed, words, { cause: error })
}

/** Writes pieces, each when the one before is written. */
class Saving {
  keys = 0
  readonly #target: DumpTarget

  constructor(target: DumpTarget) {
    this.#target = target
  }

  async all(pieces: AsyncIterable<DumpPiece>): Promise<void> {
    for await (const { data, keys } of pieces) {
      await this.#target.write(data)
      this.keys += keys
    }
  }
}

/** A reader of our output must not take a part for the whole. */
function brokenOff(error: unknown, keys: number): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return error
  return new Failure(
    exitCodeOf(error),
    `the dump is not complete, it broke off after ${counted(keys, 'key')}: ${reason(error)}`,
    {
      cause: error,
    },
  )
}

/** Where a dump goes. */
export interface DumpTarget {
  /** Of the file, if it is one. */
  readonly name: string | undefined
  /** Settles when there is room for more. */
  write(data: string | Uint8Array): Promise<void>
  /** It is complete. */
  finish(): Promise<void>
  /** It is not, and never will be; harmless when it is finished. */
  abandon(): Promise<void>
}

const STANDARD_STREAM = '-'
const PERMISSIONS = 0o777
const OWNER_ONLY = 0o600

/** Opens a file, or stdout. Raises {@link Failure} when that cannot be. */
export async function openTarget(file: string | undefined, io: Io): Promise<DumpTarget> {
  if (file === undefined || file === STANDARD_STREAM) {
    return {
      name: undefined,
      write: data => print(io.stdout, data),
      finish: async () => undefined,
      abandon: async () => undefined,
    }
  }
  try {
    const mode = await modeOf(file)
    if (mode === undefined) return new FileTarget(file, file, await open(file, 'w'))
    // A name that nobody else has, and no link that somebody left there.
    const place = `${file}.${toHex(randomBytes(6)).toLowerCase()}.part`
    return new FileTarget(file, place, await open(place, 'wx', mode))
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot write the dump: ${reason(cause)}`, { cause })
  }
}

/**
 * With which permissions a file may be put there in one piece: those of the one it replaces, else the owner's alone, as a
 * dump holds every value. `undefined` for the place of a device or a link, which is written to as it is.
 */
async function modeOf(file: string): Promise<number | undefined> {
  try {
    const status = await lstat(file)
    return status.isFile() ? status.mode & PERMISSIONS : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return OWNER_ONLY
    throw error
  }
}

/** A file that is what it was until it is complete. */
class FileTarget implements DumpTarget {
  readonly name: string
  readonly #place: string
  readonly #handle: FileHandle
  #ended = false

  constructor(name: string, place: string, handle: FileHandle) {
    this.name = name
    this.#place = place
    this.#handle = handle
  }

  async write(data: string | Uint8Array): Promise<void> {
    await this.#attempt(async () => this.#handle.appendFile(data))
  }

  async finish(): Promise<void> {
    await this.#attempt(async () => {
      await this.#handle.sync().catch(ignoreUnable)
      await this.#handle.close()
      if (this.#place !== this.name) await rename(this.#place, this.name)
    })
    this.#ended = true
  }

  async abandon(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#handle.close()
    if (this.#place !== this.name) await rm(this.#place, { force: true })
  }

  async #attempt(task: () => Promise<unknown>): Promise<void> {
    try {
      await task()
    } catch (cause) {
      throw new Failure(EXIT.failed, `cannot write the dump: ${reason(cause)}`, { cause })
    }
  }
}

// A pipe or a device cannot be synchronised, and need not be.
function ignoreUnable(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && (error.code === 'EINVAL' || error.code === 'ENOTSUP'))) throw error
}

/** Some lines of a dump. */
export interface DumpPiece {
  readonly data: string | Uint8Array
  /** Number of keys whose lines end in it. */
  readonly keys: number
}

/** Keys that are read at a time. */
const BATCH = 256
const CONCURRENCY = 64

/** The dump in the answer of a console, with its first and last line; raises what ends the answer early. */
export async function* piecesOfAnswer(answer: IncomingMessage): AsyncGenerator<DumpPiece, void> {
  let isFirst = true
  for await (const chunk of answer) {
    yield { data: chunk, keys: linesIn(chunk) - (isFirst ? 1 : 0) }
    isFirst = false
  }
  yield { data: '', keys: -1 }
}

/** All keys of a store, read one by one: those that are deleted meanwhile are left out. */
export async function* piecesOfStore(store: StateStore): AsyncGenerator<DumpPiece, void> {
  const writer = new DumpWriter()
  yield { data: writer.begin(), keys: 0 }
  let batch: Key<Uint8Array>[] = []
  for await (const key of store.scan('*', bytes)) {
    batch.push(key)
    if (batch.length < BATCH) continue
    yield pieceOf(await read(batch), writer)
    batch = []
  }
  yield pieceOf(await read(batch), writer)
  yield { data: writer.end(), keys: 0 }
}

/** All keys in the directory of a store, with all there is to them. */
export async function* piecesOfDirectory(directory: string): AsyncGenerator<DumpPiece, void> {
  const lines = await readDirectory(directory)
  const writer = new DumpWriter()
  yield { data: writer.begin(), keys: 0 }
  for (const line of lines) yield pieceOf([line], writer)
  yield { data: writer.end(), keys: 0 }
}

const pieceOf = (lines: readonly DumpLine[], writer: DumpWriter): DumpPiece => ({
  data: lines.map(line => writer.line(line)).join(''),
  keys: lines.length,
})

async function read(keys: readonly Key<Uint8Array>[]): Promise<readonly DumpLine[]> {
  const lines$ = from(keys).pipe(
    mergeMap(key => key.get().pipe(mergeMap(entry => lineOf(key, entry))), CONCURRENCY),
    toArray(),
  )
  return lastValueFrom(lines$)
}

function lineOf({ bytes: key }: Key<Uint8Array>, { op, value, version }: Entry<Uint8Array>): readonly DumpLine[] {
  if (op !== 'set' || value === undefined) return []
  return [toDumpLine({ key, value, version, expiresAt: undefined, fencingToken: undefined })]
}
