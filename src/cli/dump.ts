import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { type Command, Option } from 'commander'
import { defer, from, lastValueFrom, mergeMap, toArray } from 'rxjs'
import { bytes, type Entry, type Key, type StateStore } from '../client/index.js'
import { randomBytes, toHex } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { type DumpLine, DumpWriter, toDumpLine } from '../node/dump/codec.js'
import { readDirectory } from '../server/storage/directory.js'
import { once } from './connection.js'
import { askConsole, CONSOLE_VARIABLE, consoleOf, runningStore } from './console-client.js'
import { EXIT, exitCodeOf, Failure } from './failure.js'
import { addConnectionFlags, addConsoleFlag, type ConnectionFlags, type ConsoleFlags } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { counted, linesIn, showProgress } from './terminal.js'

interface DumpFlags extends ConnectionFlags, ConsoleFlags {
  readonly data?: string
  readonly file?: string
  readonly partial?: true
}

const HELP = `
Prints one JSON object per key: key and value as text (keyBytes and bytes in
Base64 if they are not UTF-8), version, and, if present, expiresAt (ms since
1970) and fencingToken. The console of 'serve --console' provides a consistent
dump of a running store; --data reads the directory of a stopped one. --partial
reads the keys one by one from the broker: only those that this user may read,
without expiresAt and fencingToken. A file is written completely or not at all.
The last line has the number of keys and a checksum, so that 'load' rejects a
truncated dump.

Examples:
  $ rx-statestore dump --console http://127.0.0.1:8080 --console-token-file state/console-token --file keys.ndjson
  $ ${CONSOLE_VARIABLE}='http://127.0.0.1:8080/#token=...' rx-statestore dump > keys.ndjson
  $ rx-statestore dump --data ./state > keys.ndjson
  $ rx-statestore dump --partial --url mqtt://127.0.0.1:1883 | jq -r '.key // empty'`

const PARTIAL = 'partial dump: no expiry, no fencing tokens, only readable keys, and not a consistent snapshot'
const NEEDS_CONSOLE =
  'a broker does not provide expiry, fencing tokens and keys that this user may not read: use --console for a complete ' +
  'dump, or --partial'

export function addDump(program: Command, io: Io): void {
  const command = program.command('dump').summary('save all keys').description('Saves all keys as NDJSON.')
  command.option('-f, --file <file>', 'write to a file (- for stdout) and print the number of keys')
  command.addOption(new Option('--data <dir>', 'read the directory of a stopped store').conflicts(['url', 'console']))
  command.option('--partial', 'dump through the broker, without expiry and fencing tokens')
  addConsoleFlag(command)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async () => dump(command.optsWithGlobals<DumpFlags>(), io))
}

async function dump(flags: DumpFlags, io: Io): Promise<void> {
  const console = consoleOf(flags, io.env)
  if (console === undefined && flags.data === undefined && !flags.partial) throw new Failure(EXIT.usage, NEEDS_CONSOLE)
  const target = await openTarget(flags.file, io)
  const save = new DumpProgress(target)
  // When the dump is printed to the same terminal, its lines show the progress.
  const showsProgress = target.name !== undefined || !io.stdout.isTTY
  const endProgress = showsProgress ? showProgress(() => counted(save.keys, 'key'), io) : () => undefined
  try {
    if (flags.data !== undefined) {
      await save.all(piecesOfDirectory(flags.data)).catch(error => {
        throw runningStore(error, flags.data ?? '', 'Dump it', 'dump')
      })
    } else if (console !== undefined) {
      await save.all(piecesOfResponse(await askConsole(console, 'dump')))
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

class DumpProgress {
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

function brokenOff(error: unknown, keys: number): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return error
  return new Failure(
    exitCodeOf(error),
    `the dump is incomplete, it ended after ${counted(keys, 'key')}: ${reason(error)}`,
    {
      cause: error,
    },
  )
}

export interface DumpTarget {
  /** The file's name; `undefined` for stdout. */
  readonly name: string | undefined
  write(data: string | Uint8Array): Promise<void>
  finish(): Promise<void>
  /** Discards an incomplete dump. Does nothing after `finish`. */
  abandon(): Promise<void>
}

const STANDARD_STREAM = '-'
const PERMISSIONS = 0o777
const OWNER_ONLY = 0o600

/** Opens a file, or stdout. Rejects with {@link Failure}. */
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
    // The name is random, so that no other user can place a symbolic link there beforehand.
    const partPath = `${file}.${toHex(randomBytes(6)).toLowerCase()}.part`
    return new FileTarget(file, partPath, await open(partPath, 'wx', mode))
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot write the dump: ${reason(cause)}`, { cause })
  }
}

/**
 * Returns the permissions of a new file: the permissions of the file that it replaces, or access for the owner only,
 * because a dump contains every value. Returns `undefined` for devices and links, which are written in place instead of
 * replaced.
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

/** Writes to a temporary file, which replaces the target when the dump is complete. */
class FileTarget implements DumpTarget {
  readonly name: string
  readonly #partPath: string
  readonly #handle: FileHandle
  #isFinished = false

  constructor(name: string, partPath: string, handle: FileHandle) {
    this.name = name
    this.#partPath = partPath
    this.#handle = handle
  }

  async write(data: string | Uint8Array): Promise<void> {
    await this.#attempt(async () => this.#handle.appendFile(data))
  }

  async finish(): Promise<void> {
    await this.#attempt(async () => {
      await this.#handle.sync().catch(ignoreUnsupported)
      await this.#handle.close()
      if (this.#partPath !== this.name) await rename(this.#partPath, this.name)
    })
    this.#isFinished = true
  }

  async abandon(): Promise<void> {
    if (this.#isFinished) return
    this.#isFinished = true
    await this.#handle.close()
    if (this.#partPath !== this.name) await rm(this.#partPath, { force: true })
  }

  async #attempt(task: () => Promise<unknown>): Promise<void> {
    try {
      await task()
    } catch (cause) {
      throw new Failure(EXIT.failed, `cannot write the dump: ${reason(cause)}`, { cause })
    }
  }
}

// Ignores the error of `sync` on pipes and devices, which do not support it.
function ignoreUnsupported(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && (error.code === 'EINVAL' || error.code === 'ENOTSUP'))) throw error
}

export interface DumpPiece {
  readonly data: string | Uint8Array
  /** Number of complete keys in `data`. */
  readonly keys: number
}

const BATCH = 256
const CONCURRENCY = 64

/**
 * Yields the dump in a console's response, including its first and last line. Throws if the response is truncated.
 */
export async function* piecesOfResponse(answer: IncomingMessage): AsyncGenerator<DumpPiece, void> {
  let isFirst = true
  for await (const chunk of answer) {
    yield { data: chunk, keys: linesIn(chunk) - (isFirst ? 1 : 0) }
    isFirst = false
  }
  yield { data: '', keys: -1 }
}

/** Reads all keys of a store one by one. Keys that are deleted during the dump may be missing. */
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

/** Reads all keys in the directory of a stopped store, with expiry and fencing tokens. */
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
