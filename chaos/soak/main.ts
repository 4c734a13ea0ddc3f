// This program runs a store under constant load, and checks that memory, handles, files and latency do not grow.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_NATS_SERVER, natsServer } from '../../scripts/nats-server.js'
import { resourcesNow } from '../resources.js'
import { Run, readOptions, tableOf } from '../run.js'
import { type Point, trendOf } from '../trend.js'
import { Load } from './load.js'
import { startCluster, startStore } from './stores.js'

const SAMPLE_EVERY_MS = 5_000
/** The share of a run in which caches fill and code is compiled. Its samples do not count. */
const WARM_UP = 0.25
const MIB = 1024 * 1024

/** The unit and the largest growth per hour of each series. A series grows if its interval is above the bound. */
const BOUNDS = {
  'store heap': { unit: 'MiB', scale: MIB, perHour: 8 },
  'store RSS': { unit: 'MiB', scale: MIB, perHour: 64 },
  'store timers': { unit: '', scale: 1, perHour: 10 },
  'store handles': { unit: '', scale: 1, perHour: 10 },
  'clients heap': { unit: 'MiB', scale: MIB, perHour: 8 },
  'clients RSS': { unit: 'MiB', scale: MIB, perHour: 64 },
  'clients timers': { unit: '', scale: 1, perHour: 10 },
  'clients handles': { unit: '', scale: 1, perHour: 10 },
  directory: { unit: 'MiB', scale: MIB, perHour: 16 },
  p99: { unit: 'ms', scale: 1, perHour: 20 },
} as const

type Name = keyof typeof BOUNDS

const { duration, seed, data, log } = readOptions({}, ['data', 'log'])
if (log && natsServer() === undefined) {
  console.error(`soak --log ${NO_NATS_SERVER}`)
  process.exit(1)
}
const storage = log ? 'three nodes on three NATS servers' : data ? 'a store with a directory' : 'a store in memory'
console.log(`soak: ${duration / 1000} s, seed ${seed}, ${storage}`)

const run = new Run(seed)
const { violations, tally, directory } = run
const store = log ? await startCluster(run) : await startStore(run, data ? join(directory, 'data') : undefined)
const load = new Load(store, run)
const series = new Map<Name, Point[]>()

function add(name: Name, value: number | undefined) {
  if (value === undefined || Number.isNaN(value)) return
  series.set(name, [...(series.get(name) ?? []), { at: performance.now(), value: value / BOUNDS[name].scale }])
}

async function sample() {
  add('p99', load.takeP99())
  await load.pauseFor(async () => {
    const [atStore, here] = [await store.resources(), resourcesNow()]
    for (const [where, { heap, external, rss, timers, handles }] of [
      ['store', atStore],
      ['clients', here],
    ] as const) {
      add(`${where} heap`, heap + external)
      add(`${where} RSS`, rss)
      add(`${where} timers`, timers)
      add(`${where} handles`, handles)
    }
    add('directory', store.diskBytes())
  })
}

function judge() {
  writeFileSync(join(directory, 'series.json'), JSON.stringify(Object.fromEntries(series)))
  const rows = Array.from(series, ([name, points]) => {
    const { unit, perHour } = BOUNDS[name]
    const { median, slope, low, high } = trendOf(points)
    const isFlat = low <= perHour
    if (!isFlat) violations.add('not flat', `${name} grows by ${low.toFixed(1)} ${unit} per hour or more`)
    const interval = `${low.toFixed(1)} to ${high.toFixed(1)}`
    return [name, unit, median.toFixed(1), slope.toFixed(1), interval, perHour, isFlat ? 'flat' : 'GROWS']
  })
  console.log(tableOf([['series', 'unit', 'median', 'slope/h', '99 % interval', 'bound/h', ''], ...rows]))
}

const describe = () =>
  `${tally.of('requests')} requests, ${tally.of('visitors')} visitors, ${tally.of('restarts')} restarts`

await run.execute(describe, async () => {
  await load.fillReplyCache()
  await load.start()
  const end = performance.now() + duration
  await new Promise(resolve => setTimeout(resolve, duration * WARM_UP))
  load.takeP99()
  while (performance.now() < end) {
    await new Promise(resolve => setTimeout(resolve, SAMPLE_EVERY_MS))
    await sample()
  }
  await load.stop()
  await store.stop()
  await run.judgeLeftOver()
  judge()
  return []
})
