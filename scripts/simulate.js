// Simulates new schedules on all cores for a given time: npm run simulate -- --minutes 15 [--seed n] [--only
// watch|nodes|beside|cluster|glob|lease|optimistic|shadow|broker|pubsub|wake] [--cores n] Each failure is shrunk, and
// printed once per family. The exit code is 1 if there was a failure. Replay a failure with `SEED=n`; see
// CONTRIBUTING.md.

import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { rolldown } from 'rolldown'

/** @typedef {{ done: Record<string, number>, failures: { suite: string, seed: number, family: string, report?: string }[] }} News */

const SUITES = [
  'watch',
  'nodes',
  'beside',
  'cluster',
  'glob',
  'lease',
  'optimistic',
  'shadow',
  'broker',
  'pubsub',
  'wake',
]
const SEEDS = 2 ** 32
const PROGRESS = 60_000
const WORKER = new URL('../spec/simulation/marathon.ts', import.meta.url).pathname

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '15' },
    seed: { type: 'string' },
    only: { type: 'string' },
    cores: { type: 'string', default: String(availableParallelism()) },
  },
})
const minutes = positive('minutes', values.minutes)
const cores = Math.ceil(positive('cores', values.cores))
const first = values.seed === undefined ? Math.floor(Math.random() * SEEDS) : positive('seed', values.seed)
const suites = values.only === undefined ? SUITES : values.only.split(',').filter(name => SUITES.includes(name))
if (suites.length === 0) {
  console.error(`Expected --only to be among ${SUITES.join(', ')}, got ${values.only}`)
  process.exit(2)
}

/** @type {Record<string, number>} */
const done = {}
/** @type {Map<string, number[]>} */
const families = new Map()
const start = Date.now()

/** @param {string} name @param {string} text */
function positive(name, text) {
  const number = Number(text)
  if (Number.isFinite(number) && number > 0) return number
  console.error(`Expected --${name} to be a positive number, got ${text}`)
  process.exit(2)
}

/** @param {News} news */
function hear({ done: more, failures }) {
  for (const [suite, count] of Object.entries(more)) done[suite] = (done[suite] ?? 0) + count
  for (const { suite, seed, family, report } of failures) {
    const known = families.get(`${suite}: ${family}`)
    if (known) known.push(seed)
    else {
      families.set(`${suite}: ${family}`, [seed])
      console.log(`\n${suite}: ${report}\n`)
    }
  }
}

function summary() {
  const counts = Object.entries(done).map(([suite, count]) => `${suite} ${count.toLocaleString('en')}`)
  const failed = Array.from(families.values(), seeds => seeds.length).reduce((sum, count) => sum + count, 0)
  return `${((Date.now() - start) / 60_000).toFixed(1)} min: ${counts.join(', ') || 'nothing yet'}; ${failed} failures`
}

/** @param {string} file @param {number} core */
function work(file, core) {
  const workerData = { suites, first, core, cores, deadline: start + minutes * 60_000 }
  return /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      const worker = new Worker(file, { workerData })
      worker.on('message', hear)
      worker.on('error', reject)
      worker.on('exit', () => resolve())
    })
  )
}

console.log(`${suites.join(', ')} from seed ${first} on ${cores} cores for ${minutes} min`)
const folder = await mkdtemp(join(tmpdir(), 'simulate-'))
const progress = setInterval(() => console.log(summary()), PROGRESS)
try {
  const file = join(folder, 'marathon.mjs')
  const bundle = await rolldown({ input: WORKER, platform: 'node', logLevel: 'silent' })
  await bundle.write({ file, format: 'esm', codeSplitting: false })
  await bundle.close()
  await Promise.all(Array.from({ length: cores }, (_, core) => work(file, core)))
} finally {
  clearInterval(progress)
  await rm(folder, { recursive: true })
}
console.log(summary())
for (const [family, seeds] of families) console.log(`${seeds.length} x ${family} (${seeds.slice(0, 20).join(' ')})`)
process.exitCode = families.size > 0 ? 1 : 0
