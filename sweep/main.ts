// Searches for frames whose work is out of proportion: npm run sweep -- [--seed n] [--minutes n] [--only text] [--json]
// With --document, only writes the list of its rows to the document.
// Every attack meets a real server in another process, whose steps, CPU time and memory are compared with bounds.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs, styleText } from 'node:util'
import { Random } from '../harness/random.js'
import { withSweep } from './document.js'
import { Bench, type Result } from './measure.js'
import { bundleServer } from './process/bundle.js'
import { ROWS } from './rows.js'
import type { Row } from './scene/row.js'
import type { StateName } from './scene/states.js'
import { formatTable } from './table.js'

const MINUTE_MS = 60_000
const DOCUMENT = 'docs/internals/attacks.md'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: process.env['SEED'] ?? '1' },
    minutes: { type: 'string' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    document: { type: 'boolean', default: false },
  },
})
if (values.document) {
  writeFileSync(DOCUMENT, withSweep(readFileSync(DOCUMENT, 'utf8')))
  process.exit()
}
const seed = Number(values.seed)
const random = new Random(seed)
const rows = ROWS.filter(({ name, state }) => `${name} | ${state}`.includes(values.only))
if (rows.length === 0) {
  console.error(`no row contains ${JSON.stringify(values.only)}`)
  process.exit(2)
}
const deadline = performance.now() + Number(values.minutes ?? 0) * MINUTE_MS
const log = values.json ? () => undefined : console.info

const program = await bundleServer('server')
log(`sweep: ${rows.length} rows, seed ${seed}`)
const results = new Map<string, Result>()
do await sweep()
while (performance.now() < deadline)

/** Measures every row once, in a random order within its state. */
async function sweep(): Promise<void> {
  for (const state of new Set(rows.map(({ state }) => state)))
    await sweepState(state, shuffled(rows.filter(row => row.state === state)))
}

async function sweepState(state: StateName, chosen: readonly Row[]): Promise<void> {
  const start = performance.now()
  let bench = await Bench.open(program, state)
  for (const row of chosen) {
    if (!bench.isUsable) bench = await Bench.open(program, state)
    const result = await bench.measure(row)
    if (result.failure !== '' || !results.has(row.name)) results.set(row.name, result)
    if (result.failure !== '') log(`  ${styleText('red', row.name)}: ${result.failure}`)
  }
  await bench.close()
  log(`${state}: ${chosen.length} rows in ${((performance.now() - start) / 1_000).toFixed(0)} s`)
}

function shuffled(list: readonly Row[]): readonly Row[] {
  const keyed = list.map(row => ({ row, key: random.next() }))
  return keyed.sort((a, b) => a.key - b.key).map(({ row }) => row)
}

const all = Array.from(results.values())
const failed = all.filter(({ failure }) => failure !== '')
console.info(values.json ? JSON.stringify({ seed, results: all.map(asData) }, undefined, 1) : formatTable(all))
log(failed.length === 0 ? styleText('green', 'all within their bounds') : styleText('red', `${failed.length} exceed`))
process.exitCode = failed.length > 0 ? 1 : 0

function asData({ row, shares, failure }: Result) {
  return { row: row.name, state: row.state, ...shares, failure }
}
