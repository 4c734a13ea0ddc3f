import { open } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { defer, EMPTY, from, lastValueFrom, mergeMap, type Observable, tap } from 'rxjs'
import { bytes, type SetOptions, type SetResult, type StateStore } from '../client/index.js'
import { ArgumentError, reason } from '../core/util/errors.js'
import { DumpReader, type DumpRecord, dumpLinesOf } from '../node/dump/codec.js'
import type { LoadResponse } from '../server/console/contract.js'
import { once } from './connection.js'
import { askConsole, CONSOLE_VARIABLE, type ConsoleAddress, consoleOf, runningStore, textOf } from './console-client.js'
import { EXIT, exitCodeOf, Failure } from './failure.js'
import { addConnectionFlags, addConsoleFlag, type ConnectionFlags, type ConsoleFlags } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { counted, linesIn, showProgress } from './terminal.js'

interface LoadFlags extends ConnectionFlags, ConsoleFlags {
  readonly data?: string
  readonly replace?: true
}

const HELP = `
Reads the output of 'dump' from a file or stdin. A dump without its last line is
truncated and rejected, as is an empty input; a file written by hand needs
neither the first nor the last line. With --console the load is atomic, and a
key keeps its version if that is newer than every version of the store, as in an
empty store. --data does the same in the directory of a stopped store, without
its quotas. Otherwise the keys are set one by one, at any store, and get new
versions. All apply expiresAt and fencingToken, and skip keys that have expired.
Keys that are not in the dump stay, unless --replace deletes them.

Examples:
  $ rx-statestore load keys.ndjson --console 'http://127.0.0.1:8080/#token=...'
  $ rx-statestore load keys.ndjson --data ./state --replace
  $ ${CONSOLE_VARIABLE}='http://127.0.0.1:8080/#token=...' rx-statestore load < keys.ndjson
  $ rx-statestore dump --partial --url mqtt://old | rx-statestore load --url mqtt://new`

const WITHOUT_CONSOLE = 'without --console, keys get new versions'
const NO_REPLACE =
  '--replace requires --console or --data: a broker hides keys that this user may not read, and cannot replace all keys at once'
const STANDARD_STREAM = '-'

export function addLoad(program: Command, io: Io): void {
  const command = program.command('load').summary('restore saved keys').description('Sets the keys of a dump.')
  command.argument('[file]', 'dump to load, - for stdin', STANDARD_STREAM)
  command.option('--replace', 'delete all keys that are not in the dump')
  command.addOption(
    new Option('--data <dir>', 'load into the directory of a stopped store').conflicts(['url', 'console']),
  )
  addConsoleFlag(command)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (file: string) => load(file, command.optsWithGlobals<LoadFlags>(), io))
}

async function load(file: string, flags: LoadFlags, io: Io): Promise<void> {
  const { data, replace = false } = flags
  if (data === '') throw new Failure(EXIT.usage, 'Expected `--data` to be the path of a directory, got ``')
  const console = data === undefined ? consoleOf(flags, io.env) : undefined
  const isAtomic = data !== undefined || console !== undefined
  if (replace && !isAtomic) throw new Failure(EXIT.usage, NO_REPLACE)
  const input = await openInput(file, io)
  try {
    const answer = await loadInto({ data, console, replace, flags }, input.chunks, io)
    await print(io.stdout, flags.json ? jsonLine(answer) : inWords(answer, isAtomic, replace))
  } finally {
    await input.close()
  }
}

interface Target {
  readonly data: string | undefined
  readonly console: ConsoleAddress | undefined
  readonly replace: boolean
  readonly flags: LoadFlags
}

function loadInto({ data, console, replace, flags }: Target, chunks: Input['chunks'], io: Io): Promise<LoadResponse> {
  if (data !== undefined) return byDirectory(data, replace, chunks, io)
  return console ? byConsole(console, replace, chunks, io) : bySets(flags, chunks, io)
}

interface Input {
  readonly chunks: AsyncIterable<Uint8Array>
  close(): Promise<void>
}

async function openInput(file: string, io: Io): Promise<Input> {
  if (file === STANDARD_STREAM) return { chunks: io.stdin, close: async () => undefined }
  try {
    const handle = await open(file)
    return { chunks: handle.createReadStream({ autoClose: false }), close: async () => handle.close() }
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the dump: ${reason(cause)}`, { cause })
  }
}

async function byConsole(
  console: ConsoleAddress,
  replace: boolean,
  chunks: AsyncIterable<Uint8Array>,
  io: Io,
): Promise<LoadResponse> {
  // The request is not a parameter of `load`, because an older console would ignore the parameter and silently keep the
  // other keys.
  const request = replace ? 'replace' : 'load'
  return withLineProgress('sent', chunks, io, async passing =>
    readAnswer(await textOf(await askConsole(console, request, passing))),
  )
}

async function byDirectory(
  directory: string,
  replace: boolean,
  chunks: AsyncIterable<Uint8Array>,
  io: Io,
): Promise<LoadResponse> {
  // Imported on demand, because the store's code would delay the start of the command.
  const { loadDirectory } = await import('../server/host/load-directory.js')
  const report = (error: unknown): unknown => io.stderr.write(`${directory}: ${reason(error)}\n`)
  try {
    return await withLineProgress('read', chunks, io, async passing =>
      loadDirectory(directory, dumpLinesOf(passing), report, { replace }),
    )
  } catch (error) {
    if (error instanceof ArgumentError) throw new Failure(EXIT.failed, error.message, { cause: error })
    throw runningStore(error, directory, 'Load the dump', 'load')
  }
}

async function withLineProgress<T>(
  done: string,
  chunks: AsyncIterable<Uint8Array>,
  io: Io,
  task: (passing: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  let lines = 0
  async function* passing(): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      lines += linesIn(chunk)
      yield chunk
    }
  }
  const endProgress = showProgress(() => `${counted(lines, 'line')} ${done}`, io)
  try {
    return await task(passing())
  } finally {
    endProgress()
  }
}

function readAnswer(text: string): LoadResponse {
  const answer: Partial<LoadResponse> = JSON.parse(text)
  const { loaded = 0, versionsKept = 0, expired = 0, deleted = 0 } = answer
  return { loaded, versionsKept, expired, deleted }
}

async function bySets(flags: LoadFlags, chunks: AsyncIterable<Uint8Array>, io: Io): Promise<LoadResponse> {
  io.stderr.write(`${WITHOUT_CONSOLE}\n`)
  const loading = new DumpLoader(() => io.clock.now())
  const endProgress = showProgress(() => counted(loading.loaded, 'key'), io)
  try {
    await once(flags, io, store => defer(async () => loading.all(dumpLinesOf(chunks), store)))
  } catch (error) {
    const loaded = loading.loaded === 0 ? 'nothing was loaded' : `${counted(loading.loaded, 'key')} loaded before`
    throw new Failure(error instanceof ArgumentError ? EXIT.failed : exitCodeOf(error), `${reason(error)}; ${loaded}`, {
      cause: error,
    })
  } finally {
    endProgress()
  }
  return { loaded: loading.loaded, versionsKept: 0, expired: loading.expired, deleted: 0 }
}

function inWords(
  { loaded, versionsKept, expired, deleted }: LoadResponse,
  keepsVersions: boolean,
  replace: boolean,
): string {
  const versions = keepsVersions ? `, ${versionsKept} kept the version of the dump` : ''
  const late = expired === 0 ? '' : `; ${expired} skipped as expired`
  const others = replace ? `; ${deleted} deleted` : ''
  return `${counted(loaded, 'key')} loaded${versions}${late}${others}\n`
}

/** Maximum number of keys, and of bytes, in a batch. */
const BATCH = 256
const BATCH_BYTES = 1024 * 1024
const CONCURRENCY = 64

/** Sets a dump's keys, batch by batch. */
export class DumpLoader {
  /** Number of keys that are confirmed as set. */
  loaded = 0
  /** Number of keys that were skipped because they had expired. */
  expired = 0
  readonly #now: () => number
  #batch: DumpRecord[] = []
  #bytes = 0

  /** @param now - wall time, ms since the Unix epoch */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Sets all keys. Rejects with the number of an invalid line, in which case no key of the line's batch is set. */
  async all(lines: AsyncIterable<string>, store: StateStore): Promise<void> {
    const reader = new DumpReader()
    for await (const line of lines) {
      const record = reader.read(line)
      if (record === undefined) continue
      this.#batch.push(record)
      this.#bytes += record.value.length
      if (this.#batch.length >= BATCH || this.#bytes >= BATCH_BYTES) await this.#flush(store)
    }
    await this.#flush(store)
    reader.end()
  }

  async #flush(store: StateStore): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#bytes = 0
    const written$ = from(batch).pipe(mergeMap(record => this.#set(record, store), CONCURRENCY))
    await lastValueFrom(written$, { defaultValue: undefined })
  }

  #set(record: DumpRecord, store: StateStore): Observable<SetResult> {
    const { key, value, expiresAt, fencingToken } = record
    const expiresIn = expiresAt === undefined ? undefined : expiresAt - this.#now()
    if (expiresIn !== undefined && expiresIn <= 0) {
      this.expired++
      return EMPTY
    }
    const options: SetOptions = { ...(expiresIn !== undefined && { expiresIn }), ...(fencingToken && { fencingToken }) }
    return store.set(key, value, bytes, options).pipe(tap(() => this.loaded++))
  }
}
