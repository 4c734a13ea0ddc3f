// Real clients, a real store, real sockets, and everything goes wrong; in the end every promise must have held.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeHearing } from './beside/hearing.js'
import { hasMosquitto } from './beside/mosquitto.js'
import { Supervisor as BesideSupervisor } from './beside/supervisor.js'
import { Complaints } from './complaints.js'
import { zeroCounts } from './counts.js'
import { Faults } from './faults.js'
import { judge } from './judge.js'
import type { Options } from './options.js'
import { readOptions } from './options.js'
import { Pace, until } from './pace.js'
import { Participant } from './participant.js'
import { showProgress } from './progress.js'
import { Random } from './random.js'
import { Recorder } from './recorder.js'
import { report } from './report.js'
import { excessOf, HEAP_BOUND, leftOver, resourcesNow, watchClients } from './resources.js'
import { converge, judgeRegistrations, settle } from './settle.js'
import { freePorts, Supervisor } from './supervisor.js'

/** How often a client writes, and how often one of its watches, of keys and of globs, comes or goes, ms. */
const WRITE_EVERY = 60
const WATCH_EVERY = 150
const GLOB_EVERY = 600
const END_DEADLINE = 10_000
/** A store that keeps its keys is killed so often, ms: that is what it is about. */
const KILL_OFTEN = 2_500
/** Beside a broker of others, where it is two seconds until the next one is sure that the one before is gone. */
const KILL_BESIDE = 5_000

const options = readOptions()
const { duration, seed, stress } = options
if (options.mosquitto && !hasMosquitto()) {
  console.error('--mosquitto needs Eclipse Mosquitto 2 on the PATH (Debian: apt-get install mosquitto)')
  process.exit(1)
}
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${options.keys} keys, ${options.clients} clients, stress ${stress}${whereOf(options)}`,
)

// Until everything was judged, it has failed.
process.exitCode = 1
const complaints = new Complaints()
process.on('unhandledRejection', error => complaints.add('unhandled rejection', error))
process.on('uncaughtException', error => complaints.add('uncaught exception', error))
// Node warns of listeners that pile up.
process.on('warning', warning => complaints.add('warning', warning))
watchClients()
const before = process.getActiveResourcesInfo()

const random = new Random(seed)
const directory = mkdtempSync(join(tmpdir(), 'rx-statestore-chaos-'))
const recorder = new Recorder(join(directory, 'seen.jsonl'))
const keys = Array.from({ length: options.keys }, (_, i) => `chaos/${i}`)
// Not by the seed: the same run, started twice at a time, must not meet itself.
const ports = await freePorts(new Random(process.pid))
const absences = options.mosquitto ? ['no-store'] : []
const world = { options, keys, places: [ports], recorder, complaints, counts: zeroCounts(), absences, reports: [] }
const complain = (what: string) => complaints.add('store process', what)
const beside = options.mosquitto ? new BesideSupervisor(directory, ports, complain, new Random(seed)) : undefined
const supervisor = beside ?? new Supervisor(directory, ports, complain, options.data ? join(directory, 'data') : '')

const participants = Array.from({ length: options.clients }, (_, i) => new Participant(world, i, random.fork()))
const paces = participants.flatMap(({ writers, watchers, globs }) => [
  new Pace(random.fork(), WRITE_EVERY / stress, () => writers.act()),
  new Pace(random.fork(), WATCH_EVERY / stress, () => watchers.act()),
  new Pace(random.fork(), GLOB_EVERY / stress, () => globs.act()),
])
const besideThem = beside ? [{ link: beside.link }] : []
const victims = [...participants.flatMap(one => one.victims), ...besideThem]
const faults = new Faults(world, supervisor, victims, random.fork(), killEvery(options))

/** Everything goes wrong for a while; then nothing more, until all is quiet. */
async function trouble(ms: number) {
  for (const pace of paces) pace.resume()
  faults.start()
  await new Promise(resolve => setTimeout(resolve, ms))
  for (const pace of paces) pace.pause()
  await faults.stop()
  await settle(participants, complaints)
  recorder.flush()
  const resources = resourcesNow()
  for (const excess of excessOf(resources, options.clients)) complaints.add('resources', excess)
  return resources
}

async function run() {
  await supervisor.start()
  for (const participant of participants) await participant.enter()
  const early = await trouble(duration / 4)
  const late = await trouble((duration * 3) / 4)
  if (late.heap - early.heap > HEAP_BOUND) complaints.add('heap', `from ${early.heap} to ${late.heap} bytes`)
  const before = await converge(world, participants)
  const end = beside ? await judgeHearing(world, participants) : before
  const registrations = beside ? undefined : await judgeRegistrations(world, supervisor, participants)
  await leave()
  recorder.close()
  await judge({
    recorder,
    journals: supervisor.journals,
    keeps: options.data || options.mosquitto,
    isBeside: options.mosquitto,
    stored: end.stored,
    complaints,
  })
  return report({ counts: world.counts, deaths: supervisor.deaths, early, late, end, registrations, complaints })
}

/** Everything is closed, and nothing may be left of it: at the store, or here. */
async function leave() {
  for (const participant of participants) await participant.leave()
  await until(END_DEADLINE, async () => (await supervisor.stats()).connections === 0)
  const { connections, watches } = await supervisor.stats()
  if (!beside && connections + watches > 0)
    complaints.add('left behind', `${connections} connections, ${watches} watches`)
  await supervisor.stop()
  for (const { links } of participants) for (const link of links) await link.close()
  endProgress()
  await until(END_DEADLINE, () => leftOver(before).length === 0)
  for (const name of leftOver(before)) complaints.add('left behind', name)
}

function whereOf({ data, mosquitto }: Options) {
  if (mosquitto) return ', with a directory, beside Mosquitto'
  return data ? ', with a directory' : ''
}

function killEvery({ data, mosquitto }: Options) {
  if (mosquitto) return KILL_BESIDE
  return data ? KILL_OFTEN : undefined
}

const endProgress = showProgress(() => {
  const { cuts, tried, notifications } = world.counts
  return `${cuts} cuts, ${supervisor.kills} kills, ${tried} writes, ${notifications} notifications, ${complaints.count} violations`
})
// Errors of the run itself end it; they must not pass for a good end.
const table = await run().catch(error => complaints.add('the run failed', error))
endProgress()
if (table) console.log(table)
for (const line of complaints.lines) console.log(line)
if (complaints.count === 0) rmSync(directory, { recursive: true })
else console.log(`What was seen, and the journals of the stores: ${directory}. Again: --seed ${seed}`)
process.exit(complaints.count === 0 ? 0 : 1)
