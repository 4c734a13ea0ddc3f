// Runs the benchmarks; see README.md.
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { measureBroker } from './broker.js'
import { measureClient } from './client.js'
import { measureCluster } from './cluster.js'
import { measureDurable } from './durable.js'
import { measurePeers } from './peers.js'
import { measurePubSub } from './pubsub.js'
import { measureStore } from './store.js'
import { printTable, progress } from './support/report.js'
import { measureWatch } from './watch.js'

const { positionals: only, values } = readArguments()
const { quick } = values
/** @type {import('./support/rounds.js').Effort} */
const effort = quick ? { quick, rounds: 1, ms: 60 } : { quick, rounds: 7, ms: 250 }
const keys = values.keys === undefined ? undefined : Number(values.keys)
if (keys !== undefined && !(Number.isSafeInteger(keys) && keys > 0 && keys < 2_000_000))
  fail(`Expected --keys to be from 1 to 1999999, got ${values.keys}`)
/** @type {string[]} */
const missing = []

/** @type {Record<string, () => Promise<import('./support/report.js').Table[]>>} */
const SECTIONS = {
  client: () => measureClient(effort),
  peers: () => measurePeers(effort, reason => missing.push(reason)),
  store: () => measureStore(effort),
  durable: () => measureDurable(effort, reason => missing.push(reason)),
  cluster: () => measureCluster(effort, reason => missing.push(reason), keys),
  broker: () => measureBroker(effort, reason => missing.push(reason), values.against),
  watch: () => measureWatch(effort),
  pubsub: () => measurePubSub(effort),
}
const unknown = only.filter(name => !(name in SECTIONS))
if (unknown.length > 0) fail(`Unknown sections: ${unknown.join(', ')}`)
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => process.exit(130))

// The limit is raised because each server and each folder adds an exit listener.
process.setMaxListeners(50)
const started = performance.now()
/** @type {Record<string, import('./support/report.js').Table[]>} */
const sections = {}
for (const [name, measure] of Object.entries(SECTIONS)) {
  if (only.length > 0 && !only.includes(name)) continue
  const tables = await measure()
  sections[name] = tables
  progress('')
  for (const table of tables) printTable(table)
}
const seconds = Math.round((performance.now() - started) / 1000)
console.log(`\n${seconds} s, ${effort.rounds} rounds, Node ${process.version}, ${availableParallelism()} cores`)
if (missing.length > 0) {
  console.log(`Not compared with ${missing.join('; ')}`)
  // In CI, everything must be installed.
  if (process.env['CI'] === 'true') process.exitCode = 1
}
const results = { ...effort, seconds, node: process.version, cores: availableParallelism(), missing, sections }
writeFileSync(new URL('./results.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`)
// Exits, because etcd3 keeps reconnecting even after it is closed.
process.exit()

function readArguments() {
  const options = /** @type {const} */ ({
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    keys: { type: 'string' },
  })
  try {
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

/** @param {string} message @returns {never} */
function fail(message) {
  const sections = 'client|peers|store|durable|cluster|broker|watch|pubsub'
  console.error(`${message}. Usage: npm run bench -- [--quick] [--against DIR] [--keys N] [${sections}]...`)
  process.exit(2)
}
