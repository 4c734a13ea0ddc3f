import type { Command } from 'commander'
import { ArgumentError, reason } from '../core/util/errors.js'
import { type Omission, type RecoveryReport, recoverDirectory } from '../server/storage/directory.js'
import { EXIT, Failure } from './failure.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine, keyMember } from './json.js'
import { keyOfBytes, shellWord } from './key-text.js'
import { colorsFor, counted, GAP, oneLine, showProgress } from './terminal.js'

interface RecoverFlags {
  readonly to: string
  readonly json?: true
}

const HELP = `
For a directory that 'serve' and 'check' reject as damaged. Writes the intact
data to a new directory for 'serve --data', and does not change the old one. The
store must not be running.

Lists each record that is not recovered: its position in the log, its size and
location, and its keys, if they are readable. A write after a gap is also
omitted if it depends on missing data: it has a condition (NX, NEX, IFVER,
VDEL), it or its key has a fencing token, or it may repeat an earlier write.
Keys that were written after a gap get new versions; other keys keep theirs.

Exit code 0: everything was recovered. 5: some records are missing. 1: nothing
could be recovered.

Examples:
  $ rx-statestore recover ./state --to ./recovered
  $ rx-statestore recover ./state --to ./recovered --json | jq -c 'select(.leftOut == "entries")'
  $ rx-statestore check ./recovered`

export function addRecover(program: Command, io: Io): void {
  const command = program.command('recover <dir>').summary('recover the intact data of a damaged directory')
  command.description("Copies the intact data of a damaged directory of 'serve --data' to a new directory.")
  command.requiredOption('--to <dir>', 'new or empty directory for the recovered data')
  command.option('--json', 'print a JSON object for each omitted record, then one with the totals')
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (directory: string) => recover(directory, command.optsWithGlobals<RecoverFlags>(), io))
}

async function recover(directory: string, { to, json }: RecoverFlags, io: Io): Promise<void> {
  let [read, of] = [0, 0]
  const percent = (): number => (of === 0 ? 0 : Math.floor((100 * read) / of))
  const endProgress = showProgress(() => `${percent()} % of ${directory} read`, io)
  try {
    const report = await recoverDirectory(directory, to, io.clock.now(), progress => ({ read, of } = progress))
    endProgress()
    const text = json
      ? [...report.omissions.map(omissionJson), summaryJson(report)]
      : [...omissionTable(report.omissions, io), ...summaryLines(report, to, io)]
    await print(io.stdout, text.join(''))
    if (report.omissions.length > 0)
      throw new Failure(EXIT.incomplete, `${to} is incomplete: the records listed above were not recovered`)
  } catch (cause) {
    endProgress()
    if (cause instanceof Failure || cause instanceof ArgumentError) throw cause
    throw new Failure(EXIT.failed, `${directory}: ${reason(cause)}`, { cause })
  }
}

/** Maximum number of keys shown per record. Further keys are only counted; `--json` prints all of them. */
const MAX_KEYS = 5

const HEADINGS = ['position', 'bytes', 'omitted', 'readable keys'] as const

const WHY: Record<Extract<Omission, { type: 'write' }>['why'], string> = {
  condition: 'its condition depends on missing data',
  'fencing-token': 'its fencing token may be older than a missing one',
  repeat: 'it may repeat a missing write',
}

export function omissionTable(omissions: readonly Omission[], io: Io): string[] {
  if (omissions.length === 0) return []
  const { bold } = colorsFor(io.stdout, io.env)
  const rows = omissions.map(rowOf)
  // `Math.max(...rows)` would fail for many rows, because the number of arguments is limited.
  const width = (column: 0 | 1 | 2): number =>
    rows.reduce((widest, row) => Math.max(widest, row[column].length), HEADINGS[column].length)
  const [positions, sizes, textWidth] = [width(0), width(1), width(2)]
  const line = ([position, bytes, what, keys]: Row): string =>
    [position.padStart(positions), bytes.padStart(sizes), what.padEnd(textWidth), keys].join(GAP).trimEnd()
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
  const location = extent === undefined ? '' : `, ${extent.file} at byte ${extent.at}`
  if (omission.type === 'records') {
    const what = extent === undefined ? `snapshot that is missing, ${omission.file}` : `damaged records${location}`
    return ['-', bytes, what, keyWords(keys)]
  }
  const { first, last } = omission
  const what = `${extent === undefined ? 'missing' : 'damaged'} ${first === last ? 'entry' : 'entries'}${location}`
  return [first === last ? String(first) : `${first}-${last}`, bytes, what, keyWords(keys)]
}

function keyWords(keys: readonly Uint8Array[]): string {
  const firstKeys = keys.slice(0, MAX_KEYS).map(key => shellWord(key))
  return [...firstKeys, ...(keys.length > MAX_KEYS ? [`and ${keys.length - MAX_KEYS} more`] : [])].join(' ')
}

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

export function summaryJson({ omissions, ...totals }: RecoveryReport): string {
  return jsonLine({ ...totals, leftOut: omissions.length })
}

export function summaryLines(report: RecoveryReport, to: string, io: Io): string[] {
  const { dim, green, yellow } = colorsFor(io.stdout, io.env)
  const { keys, position, entries, omissions, lostKeys, torn, isEndKnown, strays } = report
  const isWhole = omissions.length === 0
  const lines = [
    [
      'recovered',
      `${counted(keys, 'key')} in ${to}, at position ${position}; ${counted(entries, 'entry', 'entries')} of the log`,
    ],
    ['omitted', isWhole ? green('nothing') : yellow(totalsOf(omissions))],
    ...(lostKeys === 0
      ? []
      : [
          [
            'snapshot',
            lostKeys === undefined ? 'an unknown number of keys is lost' : `${counted(lostKeys, 'key')} lost`,
          ],
        ]),
    ...(torn === 0
      ? []
      : [['ignored', `${counted(torn, 'byte')} at the end, from an unfinished write that was never acknowledged`]]),
    ...strays.map(name => ['ignored', `${oneLine(name)}, which is not a file of a state store`]),
    ...(isEndKnown ? [] : [['end', 'the file "mark" is missing or damaged, so entries at the end may be missing']]),
  ]
  return lines.map(([name = '', text]) => `${dim(name.padEnd(11))}${text}\n`)
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
    ...(writes > 0 ? [`${counted(writes, 'write')} after ${entries === 1 ? 'it' : 'them'}`] : []),
    ...(records > 0 ? [`${counted(records, 'part')} of the snapshot`] : []),
    ...(replies > 0 ? ['replies to repeated writes'] : []),
  ].join(', ')
}
