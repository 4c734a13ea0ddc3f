// This program runs real clients and a real store over real sockets under constant faults, then checks every guarantee.

import { join } from 'node:path'
import { hasMosquitto } from './beside/mosquitto.js'
import { checkNotifications } from './beside/notification-check.js'
import { zeroCounts } from './counts.js'
import { FaultInjector } from './fault-injector.js'
import { judge } from './judge.js'
import { Participant } from './participant.js'
import { Random } from './random.js'
import { RandomInterval, until } from './random-interval.js'
import { Recorder } from './recorder.js'
import { excessOf, resourcesNow, watchClients } from './resources.js'
import { type Row, Run, readOptions, resourceRows, rowsOf } from './run.js'
import { checkRegistrations, converge, settle } from './settle.js'
import { AttachedSupervisor, findPortPair, Supervisor } from './supervisor.js'

/** The mean intervals in ms between writes of a client, and between changes of its watches of keys and globs. */
const WRITE_INTERVAL_MS = 60
const WATCH_EVERY = 150
const GLOB_EVERY = 600
const END_DEADLINE = 10_000

const options = readOptions({ keys: 200, clients: 8, stress: 1 }, ['data', 'mosquitto'])
const { duration, seed, stress, data, mosquitto } = options
if (mosquitto && !hasMosquitto()) {
  console.error('--mosquitto needs Eclipse Mosquitto 2 on the PATH (Debian: apt-get install mosquitto)')
  process.exit(1)
}
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${options.keys} keys, ${options.clients} clients, stress ${stress}${data || mosquitto ? ', with a directory' : ''}${mosquitto ? ', beside Mosquitto' : ''}`,
)

const run = new Run(seed)
const { violations, random, directory } = run
watchClients()
const recorder = new Recorder(join(directory, 'seen.jsonl'))
const keys = Array.from({ length: options.keys }, (_, i) => `chaos/${i}`)
// The ports do not depend on the seed, so that two identical runs at the same time use different ports.
const ports = await findPortPair(new Random(process.pid))
const unavailableCodes = mosquitto ? ['no-store'] : []
const context = {
  options,
  keys,
  addresses: [ports],
  recorder,
  violations,
  counts: zeroCounts(),
  unavailableCodes,
  expectedCodes: [],
}
const complain = (what: string) => violations.add('store process', what)
const beside = mosquitto ? new AttachedSupervisor(directory, ports, complain, new Random(seed)) : undefined
const supervisor = beside ?? new Supervisor(directory, ports, complain, data ? join(directory, 'data') : '')

/**
 * The mean interval in ms between kills. A durable store is killed often, because the run tests its recovery. Behind
 * another broker, the next instance needs two seconds to detect that the previous one has ended.
 */
const KILL_INTERVAL_MS = mosquitto ? 5_000 : data ? 2_500 : undefined

const participants = Array.from({ length: options.clients }, (_, i) => new Participant(context, i, random.fork()))
const paces = participants.flatMap(({ writers, watchers, globs }) => [
  new RandomInterval(random.fork(), WRITE_INTERVAL_MS / stress, () => writers.performRequests()),
  new RandomInterval(random.fork(), WATCH_EVERY / stress, () => watchers.changeWatches()),
  new RandomInterval(random.fork(), GLOB_EVERY / stress, () => globs.changeWatches()),
])
const besideThem = beside ? [{ link: beside.link }] : []
const victims = [...participants.flatMap(one => one.faultTargets), ...besideThem]
const faults = new FaultInjector(context, supervisor, victims, random.fork(), KILL_INTERVAL_MS)

/** Injects faults for the given time, then waits until all activity has ended. */
async function trouble(ms: number) {
  for (const pace of paces) pace.resume()
  faults.start()
  await new Promise(resolve => setTimeout(resolve, ms))
  for (const pace of paces) pace.pause()
  await faults.stop()
  await settle(context, participants)
  recorder.flush()
  const resources = resourcesNow()
  for (const excess of excessOf(resources, options.clients)) violations.add('resources', excess)
  return resources
}

/** Closes all clients and the store, and checks that no resources are left at the store or in this process. */
async function leave() {
  for (const participant of participants) await participant.stop()
  await until(END_DEADLINE, async () => (await supervisor.stats()).connections === 0)
  const { connections, watches } = await supervisor.stats()
  if (!beside && connections + watches > 0)
    violations.add('left behind', `${connections} connections, ${watches} watches`)
  await supervisor.stop()
  for (const { links } of participants) for (const link of links) await link.close()
  await run.judgeLeftOver()
}

function describe() {
  const { cuts, tried, notifications } = context.counts
  return `${cuts} cuts, ${supervisor.kills} kills, ${tried} writes, ${notifications} notifications`
}

await run.execute(describe, async () => {
  await supervisor.start()
  for (const participant of participants) await participant.start()
  const early = await trouble(duration / 4)
  const late = await trouble((duration * 3) / 4)
  run.judgeHeap(early, late)
  const before = await converge(context, participants)
  const end = beside ? await checkNotifications(context, participants) : before
  const registrations = beside ? undefined : await checkRegistrations(context, supervisor, participants)
  await leave()
  recorder.close()
  await judge({
    recorder,
    journals: supervisor.journals,
    keeps: data || mosquitto,
    isBeside: mosquitto,
    stored: end.stored,
    violations,
  })
  const left: Row[] = registrations
    ? [['registrations of keys, of globs, after', `${registrations.keys}, ${registrations.globs}, 0`]]
    : []
  return [...supervisor.killRows, ...rowsOf(context.counts), ...end.rows, ...left, ...resourceRows(early, late)]
})
