// This program runs real clients and a real store over real sockets under constant faults, then checks every guarantee.

import { join } from 'node:path'
import { freePorts } from '../harness/free-port.js'
import { findLeaseViolations } from '../harness/judges/leases.js'
import { Link } from '../harness/link.js'
import { checkDirectory } from '../src/server/storage/directory.js'
import { excessOf, trackClients } from './client-resources.js'
import { FAULT_INTERVAL_MS, FaultInjector, type Restartable } from './fault-injector.js'
import { judge, readJournals } from './judge.js'
import { type LeaseHoldings, Leases } from './leases.js'
import { AttachedStore, hasMosquitto } from './mosquitto.js'
import { Participant } from './participant.js'
import { RandomInterval, until } from './random-interval.js'
import { Recorder } from './recorder.js'
import { resourcesNow } from './resources.js'
import { Run, readOptions, resourceRows } from './run.js'
import { changeEveryKey, checkRegistrations, converge, settle } from './settle.js'
import { StoreProcess } from './store-process.js'

/** The mean intervals in ms between writes of a client, and between changes of its watches of keys and globs. */
const WRITE_EVERY = 60
const WATCH_EVERY = 150
const GLOB_EVERY = 600
const LEASE_EVERY = 3_000
const FENCED_EVERY = 400
const END_DEADLINE = 10_000

const options = readOptions({ keys: 200, clients: 8, stress: 1 }, ['data', 'mosquitto'])
const { duration, seed, stress, mosquitto } = options
const isDurable = options.data || mosquitto
if (mosquitto && !hasMosquitto()) {
  console.error('--mosquitto needs Eclipse Mosquitto 2 on the PATH (Debian: apt-get install mosquitto)')
  process.exit(1)
}
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${options.keys} keys, ${options.clients} clients, stress ${stress}${isDurable ? ', with a directory' : ''}${mosquitto ? ', beside Mosquitto' : ''}`,
)

const run = new Run(seed)
const { violations, random, directory, tally } = run
trackClients()
const recorder = new Recorder(join(directory, 'seen.jsonl'))
const [port = 0, wsPort = 0] = await freePorts(2)
const ports = { port, wsPort }
const context = {
  violations,
  tally,
  recorder,
  keys: Array.from({ length: options.keys }, (_, i) => `chaos/${i}`),
  addresses: [ports],
  /** The keys are unavailable while no store is attached. */
  unavailableCodes: mosquitto ? ['no-store'] : [],
  /** This code comes from a lease that was not renewed in time. Only runs with a directory have leases. */
  expectedCodes: options.data && !mosquitto ? ['outcome-unknown'] : [],
  isAttached: mosquitto,
}
const brokerLink = mosquitto ? new Link(port, random.fork()) : undefined
await brokerLink?.listen()
const journals: string[] = []
const store = new StoreProcess('the store', run, () => {
  const journal = join(directory, `journal-${journals.length}.jsonl`)
  journals.push(journal)
  return {
    ...(brokerLink ? { broker: brokerLink.url } : ports),
    ...(isDurable && { data: join(directory, 'data') }),
    journal,
  }
})
const service = brokerLink ? new AttachedStore(run, ports, store, brokerLink) : store
/** The process to kill. A durable store is sometimes stopped instead, which closes its log. */
const victim: Restartable = {
  start: () => service.start(),
  kill: () => (service === store && isDurable && random.chance(0.2) ? store.terminate() : service.kill()),
}

/**
 * The mean interval in ms between kills. A durable store is killed often, because the run tests its recovery. Behind
 * another broker, the next instance needs two seconds to detect that the previous one has ended.
 */
const KILL_EVERY = mosquitto ? 5_000 : isDurable ? 1_200 : 7_000

const participants = Array.from({ length: options.clients }, (_, i) => new Participant(context, i, random.fork()))
const holdings: LeaseHoldings = []
/** Leases and writes with their fencing tokens, which must survive with a durable store. */
const leases = participants
  .filter(() => service === store && isDurable)
  .map((participant, number) => new Leases(run, holdings, participant, number))
const activities = participants.flatMap(({ writers, watchers }) => [
  new RandomInterval(random.fork(), WRITE_EVERY / stress, () => writers.performRequests()),
  new RandomInterval(random.fork(), WATCH_EVERY / stress, () => watchers.changeKeys()),
  new RandomInterval(random.fork(), GLOB_EVERY / stress, () => watchers.changeGlobs()),
])
for (const lease of leases)
  activities.push(
    new RandomInterval(random.fork(), LEASE_EVERY / stress, () => lease.toggle()),
    new RandomInterval(random.fork(), FENCED_EVERY / stress, () => lease.write()),
  )
const faults = new FaultInjector(run, {
  links: [...participants.flatMap(({ links }) => links), ...(brokerLink ? [brokerLink] : [])],
  faultIntervalMs: FAULT_INTERVAL_MS / stress,
  service: victim,
  killIntervalMs: KILL_EVERY / stress,
  clients: participants,
})

/** Injects faults for the given time, then waits until all activity has ended. */
async function injectFaults(ms: number) {
  await faults.run(ms, activities)
  for (const lease of leases) lease.stop()
  await settle(context, participants)
  recorder.flush()
  const resources = resourcesNow()
  for (const excess of excessOf(resources, options.clients)) violations.add('resources', excess)
  return resources
}

/** Closes all clients and the store, and checks that no resources are left at the store or in this process. */
async function close() {
  for (const participant of participants) await participant.stop()
  if (!mosquitto && !(await until(END_DEADLINE, async () => (await store.stats()).connections === 0)))
    violations.add('left behind', `${(await store.stats()).connections} connections at the store`)
  await service.terminate()
  for (const { links } of participants) for (const link of links) await link.close()
  await run.judgeLeftOver()
}

const describe = () =>
  `${tally.of('cuts')} cuts, ${tally.of('kills')} kills, ${tally.of('writes')} writes, ${tally.of('notifications')} notifications`

await run.execute(describe, async () => {
  await service.start()
  for (const participant of participants) await participant.start()
  const early = await injectFaults(duration / 4)
  const late = await injectFaults((duration * 3) / 4)
  run.judgeHeap(early, late)
  if (mosquitto) {
    await converge(context, participants)
    await changeEveryKey(context)
  }
  const { stored, row } = await converge(context, participants)
  if (!mosquitto) await checkRegistrations(context, store, participants)
  await close()
  recorder.close()
  const history = await readJournals(journals, isDurable, violations)
  if (isDurable) await checkDirectory(join(directory, 'data')).catch(error => violations.add('directory', error))
  await judge({ recorder, history, isAttached: mosquitto, stored, violations })
  for (const wrong of findLeaseViolations(holdings)) violations.add('lease', wrong)
  return [row, ...resourceRows(early, late)]
})
