import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Violations } from '../harness/judges/violations.js'
import { Random } from '../harness/random.js'
import { until } from './random-interval.js'
import { type Resources, remainingResources } from './resources.js'
import { Tally } from './tally.js'

export type Row = readonly [label: string, value: string | number]

/** The maximum growth in bytes of the heap after garbage collection, from the first quarter of a run to its end. */
const HEAP_BOUND = 4 * 1024 * 1024
const END_DEADLINE = 30_000
const PROGRESS_EVERY = process.stderr.isTTY ? 500 : 10_000

/**
 * Parses `--minutes` or `--seconds`, `--seed`, numeric options with the given defaults, and flags.
 *
 * @example readOptions({ keys: 200, clients: 8, stress: 1 }, ['data'])
 */
export function readOptions<N extends string, F extends string = never>(
  numbers: Readonly<Record<N, number>>,
  flags: readonly F[] = [],
) {
  const defaults: Readonly<Record<string, number>> = numbers
  const names = ['minutes', 'seconds', 'seed', ...Object.keys(defaults)]
  const options = Object.fromEntries([
    ...names.map(name => [name, { type: 'string' as const }] as const),
    ...flags.map(name => [name, { type: 'boolean' as const }] as const),
  ])
  const values: Readonly<Record<string, unknown>> = parseArgs({ options }).values
  const numberOf = (name: string, otherwise: number) => {
    const value = Number(values[name] ?? otherwise)
    if (value > 0 && Number.isFinite(value)) return value
    throw new TypeError(`--${name} requires a positive number, got ${values[name]}`)
  }
  return {
    /** duration of the faults in ms */
    duration: values['seconds'] === undefined ? numberOf('minutes', 1) * 60_000 : numberOf('seconds', 0) * 1000,
    seed: Math.floor(numberOf('seed', (Date.now() % 1_000_000) + 1)),
    ...(Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, numberOf(name, value)])) as Record<
      N,
      number
    >),
    ...(Object.fromEntries(flags.map(flag => [flag, values[flag] === true])) as Record<F, boolean>),
  }
}

/** A chaos run, which counts as failed until all checks have passed. */
export class Run {
  /**
   * The violations. The first violations of a long run are printed immediately, because the files that explain them
   * keep growing.
   */
  readonly violations = new Violations(text => process.stderr.write(`${new Date().toISOString()} ${text}\n`))
  readonly tally = new Tally()
  readonly random
  /** The directory for recordings, which is removed after a successful run. */
  readonly directory = mkdtempSync(join(tmpdir(), 'rx-statestore-chaos-'))
  readonly #seed
  readonly #before = process.getActiveResourcesInfo()

  constructor(seed: number) {
    this.#seed = seed
    this.random = new Random(seed)
    process.exitCode = 1
    process.on('unhandledRejection', error => this.violations.add('unhandled rejection', error))
    process.on('uncaughtException', error => this.violations.add('uncaught exception', error))
    // Node emits a warning for leaked listeners.
    process.on('warning', warning => this.violations.add('warning', warning))
    // Child processes must end together with this process.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  }

  /** Reports a violation if the heap has grown. */
  judgeHeap(early: Resources, late: Resources): void {
    if (late.heap - early.heap > HEAP_BOUND) this.violations.add('heap', `from ${early.heap} to ${late.heap} bytes`)
  }

  /** Reports timers, sockets and similar resources that did not exist before the run. */
  async judgeLeftOver(): Promise<void> {
    await until(END_DEADLINE, () => remainingResources(this.#before).length === 0)
    for (const name of remainingResources(this.#before)) this.violations.add('left behind', name)
  }

  /** Runs the body, prints the results, and ends the process. */
  async execute(describe: () => string, body: () => Promise<readonly Row[]>): Promise<void> {
    const { violations, directory } = this
    const started = performance.now()
    const timer = setInterval(() => {
      const line = `${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${describe()}, ${violations.count} violations`
      process.stderr.write(process.stderr.isTTY ? `\r${line.padEnd(100)}` : `${line}\n`)
    }, PROGRESS_EVERY).unref()
    // An error of the run itself must not pass as success.
    const rows = await body().catch(error => violations.add('the run failed', error))
    clearInterval(timer)
    if (process.stderr.isTTY) process.stderr.write(`\r${' '.repeat(110)}\r`)
    if (rows) console.log(tableOf([...this.tally.rows, ...rows, ['violations', violations.count]]))
    for (const line of violations.lines) console.log(line)
    if (violations.count === 0) rmSync(directory, { recursive: true })
    else console.log(`Recordings: ${directory}. Repeat with --seed ${this.#seed}`)
    process.exit(violations.count === 0 ? 0 : 1)
  }
}

export const resourceRows = (early: Resources, late: Resources): Row[] => [
  [`heap MiB (+ ${mebibytes(HEAP_BOUND)})`, `${mebibytes(early.heap)} -> ${mebibytes(late.heap)}`],
  ['timers', `${early.timers} -> ${late.timers}`],
  ['handles', `${early.handles} -> ${late.handles}`],
]

const mebibytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)

/** Formats aligned columns: names to the left, values to the right. */
export function tableOf(rows: readonly (readonly (string | number)[])[]) {
  const cells = rows.map(row => row.map(cell => cell.toLocaleString('en')))
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0)))
  return cells
    .map(row =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
    )
    .join('\n')
}
