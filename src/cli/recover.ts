import type { Command } from 'commander'
import { ArgumentError, reason } from '../core/util/errors.js'
import { type Omission, type RecoveryReport, recoverDirectory } from '../server/storage/directory.js'
import { EXIT, Failure } from './failure.js'
import { type Io, print } from './io.js'
import { jsonLine, keyMember } from './json.js'
import { keyOfBytes, shellWord } from './key-text.js'
import { colorsFor, counted, GAP, oneLine, showProgress } from './terminal.js'

interface RecoverFlags {
  readonly to: string
  readonly json?: true
}

const HELP = `
For a directory that 'serve' and 'check' refuse as damaged. What is intact is written to a new directory, for
'serve --data'; the old one is not changed. The store must not run meanwhile.

Each record that is left out is listed: its position in the log, its bytes, where they are, and its keys, as far
as damaged bytes can be read. A write behind a gap is left out, too, if it depends on what is missing: it has a
condition (NX, NEX, IFVER, VDEL), it or its key has a fencing token, or it may repeat an earlier write. Keys
written behind a gap get new versions; all else stays as it was.

Exit code 0: everything was recovered. 5: something was left out. 1: nothing could be recovered.

Examples:
  $ rx-statestore recover ./state --to ./recovered
  $ rx-statestore recover ./state --to ./recovered --json | jq -c 'select(.leftOut == "entries")'
  $ rx-statestore check ./recovered`

/** Adds `recover`. */
export function addRecover(program: Command, io: Io): void {
  const command = program.command('recover <dir>').summary('save what is intact in a damaged directory')
  command.description("Writes what is intact in a damaged directory of 'serve --data' to a new one.")
  command.requiredOption('--to <dir>', 'directory to write to; empty, or not there yet')
  command.option('--json', 'print one JSON object per record that is left out, then one with the totals')
  command.addHelpText('after', HELP)
  command.action(async (directory: string) => recover(directory, command.optsWithGlobals<RecoverFlags>(), io))
}

async function recover(directory: string, { to, json }: RecoverFlags, io: Io): Promise<void> {
  let [read, of] = [0, 0]
  const percent = (): number => (of === 0 ? 0 : Math.floor((100 * read) / of))
  const endProgress = showProgress(() => `${percent()} % of ${directory} is read`, io)
  try {
    const report = await recoverDirectory(directory, to, io.clock.now(), progress => ({ read, of } = progress))
    endProgress()
    const text = json
      ? [...report.omissions.map(omissionJson), summaryJson(report)]
      : [...omissionTable(report.omissions, io), ...summaryLines(report, to, io)]
    await print(io.stdout, text.join(''))
    if (report.omissions.length > 0)
      throw new Failure(EXIT.incomplete, `${to} has not all that ${directory} had; what is left out is listed above`)
  } catch (cause) {
    endProgress()
    if (cause instanceof Failure || cause instanceof ArgumentError) throw cause
    throw new Failure(EXIT.failed, `${directory}: ${reason(cause)}`, { cause })
  }
}

/** More keys of one record are counted; `--json` prints all. */
const MAX_KEYS = 5

const HEADINGS = ['position', 'bytes', 'left out', 'keys, as far as they can be read'] as const

/** Why a write depends on what is missing. */
const WHY: Record<Extract<Omission, { type: 'write' }>['why'], string> = {
  condition: 'its condition depends on what is missing',
  'fencing-token': 'whether its fencing token is the newest depends on what is missing',
  repeat: 'it may repeat a write that is missing',
}

/** What was left out, as a table with a line for each record. */
export function omissionTable(omissions: readonly Omission[], io: Io): string[] {
  if (omissions.length === 0) return []
  const { bold } = colorsFor(io.stdout, io.env)
  const rows = omissions.map(rowOf)
  // Not spread: a call takes only so many arguments.
  const width = (column: 0 | 1 | 2): number =>
    rows.reduce((widest, row) => Math.max(widest, row[column].length), HEADINGS[column].length)
  const [positions, sizes, words] = [width(0), width(1), width(2)]
  const line = ([position, bytes, what, keys]: Row): string =>
    [position.padStart(positions), bytes.padStart(sizes), what.padEnd(words), keys].join(GAP).trimEnd()
  return [`${bold(line([...HEADINGS]))}\n`, ...rows.map(row => `${line(row)}\n`), '\n']
}

type Row = [position: string, bytes: string, what: string, keys: string]

function rowOf(omission: Omission): Row {
  if (omission.type === 'replies') return ['-', '-', `replies to repeated writes, in ${omission.file}`, '']
  if (omission.type === 'write') {
    const { position, bytes, verb, key, why } = omission
    return [String(position), String(bytes), `${verb}: ${WHY[why]}`, keyWords([key])]
  }
  const { extent, keys } = omission
  const bytes = extent === undefined ? '-' : String(extent.bytes)
  const place = extent === undefined ? '' : `, ${extent.file} at byte ${extent.at}`
  if (omission.type === 'records') {
    const what = extent === undefined ? `snapshot that is missing, ${omission.file}` : `damaged records${place}`
    return ['-', bytes, what, keyWords(keys)]
  }
  const { first, last } = omission
  const what = `${extent === undefined ? 'missing' : 'damaged'} ${first === last ? 'entry' : 'entries'}${place}`
  return [first === last ? String(first) : `${first}-${last}`, bytes, what, keyWords(keys)]
}

function keyWords(keys: readonly Uint8Array[]): string {
  const shown = keys.slice(0, MAX_KEYS).map(key => shellWord(key))
  return [...shown, ...(keys.length > MAX_KEYS ? [`and ${keys.length - MAX_KEYS} more`] : [])].join(' ')
}

/** What was left out of one record, as a line of NDJSON. */
export function omissionJson(omission: Omission): string {
  if (omission.type === 'replies') return jsonLine({ leftOut: 'replies', file: omission.file })
  if (omission.type === 'write') {
    const { position, bytes, verb, key, why } = omission
    return jsonLine({ leftOut: 'write', position, bytes, verb, ...keyMember(keyOfBytes(key)), why })
  }
  const keys = omission.keys.map(key => keyMember(keyOfBytes(key)))
  if (omission.type === 'records')
    return jsonLine({ leftOut: 'records', file: omission.file, ...omission.extent, keys })
  const { first, last, extent } = omission
  return jsonLine({ leftOut: 'entries', first, last, ...extent, keys })
}

/** The totals, as a line of NDJSON. */
export function summaryJson({ omissions, ...totals }: RecoveryReport): string {
  return jsonLine({ ...totals, leftOut: omissions.length })
}

/** The totals, for people. */
export function summaryLines(report: RecoveryReport, to: string, io: Io): string[] {
  const { dim, green, yellow } = colorsFor(io.stdout, io.env)
  const { keys, position, entries, omissions, lostKeys, torn, isEndKnown, strays } = report
  const isWhole = omissions.length === 0
  const lines = [
    [
      'recovered',
      `${counted(keys, 'key')} in ${to}, at position ${position}; ${counted(entries, 'entry', 'entries')} of the log`,
    ],
    ['left out', isWhole ? green('nothing') : yellow(totalsOf(omissions))],
    ...(lostKeys === 0
      ? []
      : [
          [
            'snapshot',
            lostKeys === undefined
              ? 'it is not known how many keys it had'
              : `${counted(lostKeys, 'key')} of it are lost`,
          ],
        ]),
    ...(torn === 0 ? [] : [['ignored', `${counted(torn, 'byte')} at the end, which were never acknowledged`]]),
    ...strays.map(name => ['ignored', `${oneLine(name)}, which no state store made`]),
    ...(isEndKnown
      ? []
      : [['end', 'the file "mark" is missing or damaged: whether entries are missing at the end is not known']]),
  ]
  return lines.map(([name = '', words]) => `${dim(name.padEnd(11))}${words}\n`)
}

function totalsOf(omissions: readonly Omission[]): string {
  let [entries, writes, records, replies] = [0, 0, 0, 0]
  for (const omission of omissions) {
    if (omission.type === 'entries') entries += omission.last - omission.first + 1
    else if (omission.type === 'write') writes++
    else if (omission.type === 'records') records++
    else replies++
  }
  return [
    ...(entries > 0 ? [counted(entries, 'entry', 'entries')] : []),
    ...(writes > 0 ? [`${counted(writes, 'write')} behind ${entries === 1 ? 'it' : 'them'}`] : []),
    ...(records > 0 ? [`${counted(records, 'part')} of the snapshot`] : []),
    ...(replies > 0 ? ['replies to repeated writes'] : []),
  ].join(', ')
}
