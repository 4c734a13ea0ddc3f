import type { Hlc } from '../../core/hlc/hlc.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { checkFlag, checkOptionNames, type OptionNames } from '../../core/util/check.js'
import {
  ArgumentError,
  ClosedError,
  OutcomeUnknownError,
  StateStoreError,
  type UncertainSubject,
} from '../../core/util/errors.js'
import { type DumpLine, DumpReader, type DumpRecord, lineError, toDumpLine } from '../../node/dump/codec.js'
import type { StoredRecord } from '../engine/apply.js'
import type { RestoreResult } from '../engine/engine.js'
import type { RestoredRecord } from '../engine/entry.js'
import { LogFailure } from '../log/log.js'
import type { StoreService } from '../service/store-service.js'
import type { LoadOptions } from './store-server.js'

const LOAD_OPERATION: UncertainSubject = { what: 'a load', remedy: 'read the keys before trying again' }

/** Yields one line at a time, because all lines together would need as much memory as the store. */
export function* dumpLines(
  records: readonly (readonly [key: Uint8Array, record: StoredRecord])[],
): Generator<DumpLine, void> {
  for (const [key, record] of records) yield toDumpLine({ key, ...record })
}

export function isReplacing(options: LoadOptions): boolean {
  checkOptionNames('load', options, { replace: true } satisfies OptionNames<LoadOptions>)
  const { replace = false } = options
  checkFlag('replace', replace)
  return replace
}

/**
 * Writes a dump's records to a store. Rejects with `quota-exceeded`, or with `request-rejected` when the log is
 * broken. When the store stops first, rejects with `closed`, or with `outcome-unknown` if the log may contain the
 * records.
 */
export async function restore(
  server: StoreService,
  records: readonly RestoredRecord[],
  replace: boolean,
  { maxKeys, maxBytes }: { readonly maxKeys: number; readonly maxBytes: number },
): Promise<RestoreResult> {
  try {
    return await server.restore(records, replace)
  } catch (error) {
    if (error instanceof LogFailure) throw loadError(error)
    if (!(error instanceof CommandError)) throw error
    const message = `the store would exceed its quota of ${maxKeys} keys or ${maxBytes} bytes`
    throw new StateStoreError(error.code, `Nothing was loaded: ${message}`)
  }
}

const loadError = (failure: LogFailure): StateStoreError => {
  const { problem } = failure
  if (failure.mayBeLogged) return new OutcomeUnknownError(failure.message, undefined, LOAD_OPERATION)
  const message = `Nothing was loaded: ${failure.message}`
  if (problem === 'closed') return new ClosedError(message, { cause: failure })
  return new StateStoreError(problem === 'full' ? 'quota-exceeded' : 'request-rejected', message, { cause: failure })
}

const MAX_LOAD_BYTES = 1024 * 1024 * 1024
const RECORD_OVERHEAD_BYTES = 500

/** A dump's records, and the latest of its fencing tokens. */
export interface ParsedDump {
  readonly records: readonly DumpRecord[]
  readonly latestToken: { readonly lineNumber: number; readonly token: Hlc } | undefined
}

/** Parses a dump, and checks its fencing tokens. See {@link parseDump} and {@link checkTokens}. */
export async function parseCheckedDump(
  lines: DumpLines,
  isAccepted: (token: Hlc) => boolean,
): Promise<readonly DumpRecord[]> {
  const dump = await parseDump(lines)
  checkTokens(dump, isAccepted)
  return dump.records
}

/**
 * Throws an {@link ArgumentError} if a fencing token of a dump is from the future. The store rejects such tokens, so the
 * key would be unwritable.
 */
export function checkTokens({ latestToken }: ParsedDump, isAccepted: (token: Hlc) => boolean): void {
  if (latestToken === undefined || isAccepted(latestToken.token)) return
  const { message } = lineError(latestToken.lineNumber, "its `fencingToken` is ahead of this machine's clock")
  throw new ArgumentError(`${message}; nothing was loaded`)
}

type DumpLines = Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>

/**
 * Parses all records of a dump before any is loaded, so that a single invalid line prevents the whole load. Throws an
 * {@link ArgumentError} with the number of the invalid line, `overflow` if the dump is too large, and any error of
 * `lines`.
 */
export async function parseDump(lines: DumpLines): Promise<ParsedDump> {
  try {
    return await parseLines(lines)
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw new ArgumentError(`${error.message}; nothing was loaded`, { cause: error })
  }
}

async function parseLines(lines: DumpLines): Promise<ParsedDump> {
  const records: DumpRecord[] = []
  const reader = new DumpReader()
  let latestToken: ParsedDump['latestToken']
  let bytes = 0
  for await (const line of lines) {
    const record = reader.read(line)
    if (record === undefined) continue
    const { lineNumber } = reader
    const { fencingToken: token } = record
    if (token !== undefined && !(latestToken && token.compareTo(latestToken.token) <= 0))
      latestToken = { lineNumber, token }
    bytes += record.key.length + record.value.length + RECORD_OVERHEAD_BYTES
    if (bytes > MAX_LOAD_BYTES) {
      throw new StateStoreError('overflow', `line ${lineNumber}: the dump has more than 1 GiB; nothing was loaded`)
    }
    records.push(record)
  }
  reader.end()
  return { records, latestToken }
}
