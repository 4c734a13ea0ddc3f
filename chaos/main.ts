// This program runs real clients and a real store over real sockets under constant faults, then checks every guarantee.

import { join } from 'node:path'
import { excessOf, trackClients } from './client-resources.js'
import { FAULT_INTERVAL_MS, FaultInjector } from './fault-injector.js'
import { findFreePorts } from './free-ports.js'
import { judge, readJournals } from './judge.js'
import { Link } from './link.js'
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
const [port = 0, wsPort = 0] = await findFreePorts(2)
const ports = { port, wsPort }
const context = {
  violations,
  tally,
  recorder,
  keys: Array.from({ length: options.keys }, (_, i) => `chaos/${i}`),
  addresses: [ports],
  /** The keys are unavailable while no store is attached. */
  unavailableCodes: mosquitto ? ['no-store'] : [],
  expectedCodes: [],
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

/**
 * The mean interval in ms between kills. A durable store is killed often, because the run tests its recovery. Behind
 * another broker, the next instance needs two seconds to detect that the previous one has ended.
 */
const KILL_EVERY = mosquitto ? 5_000 : isDurable ? 2_500 : 7_000

const participants = Array.from({ length: options.clients }, (_, i) => new Participant(context, i, random.fork()))
const activities = participants.flatMap(({ writers, watchers }) => [
  new RandomInterval(random.fork(), WRITE_EVERY / stress, () => writers.performRequests()),
  new RandomInterval(random.fork(), WATCH_EVERY / stress, () => watchers.changeKeys()),
  new RandomInterval(random.fork(), GLOB_EVERY / stress, () => watchers.changeGlobs()),
])
const faults = new FaultInjector(run, {
  links: [...participants.flatMap(({ links }) => links), ...(brokerLink ? [brokerLink] : [])],
  faultIntervalMs: FAULT_INTERVAL_MS / stress,
  service,
  killIntervalMs: KILL_EVERY / stress,
  clients: participants,
})

/** Injects faults for the given time, then waits until all activity has ended. */
async function injectFaults(ms: number) {
  await faults.run(ms, activities)
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
  await judge({ recorder, history, isAttached: mosquitto, stored, violations })
  return [row, ...resourceRows(early, late)]
})
