// This program runs real clients and a real hub over real sockets under constant faults, then checks every guarantee.

import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { HubJudge, type HubRecord } from '../../harness/judges/hub-recording.js'
import { FAULT_INTERVAL_MS, FaultInjector } from '../fault-injector.js'
import { RandomInterval, until } from '../random-interval.js'
import { Recorder } from '../recorder.js'
import { resourcesNow } from '../resources.js'
import { Run, readOptions, resourceRows } from '../run.js'
import { HubHost } from './hub-host.js'
import { Member } from './member.js'

/** The mean intervals in ms between sends of a client, and between changes of its groups. */
const SEND_EVERY = 150
const TURN_EVERY = 1_500
const RESTART_EVERY = 8_000
/** The maximum time in ms until all activity has ended, including the timeouts of sends and sessions. */
const QUIET_TIMEOUT_MS = 30_000
/** The time in ms after which the witnesses have received what was published. */
const WITNESS_LAG_MS = 3_500

const options = readOptions({ clients: 20, groups: 10, stress: 1 })
const { duration, seed, stress, groups } = options
console.log(`chaos: ${duration / 1000} s, seed ${seed}, ${options.clients} clients, ${groups} groups, stress ${stress}`)

const run = new Run(seed)
const { violations, random, tally } = run
const recorder = new Recorder<HubRecord>(join(run.directory, 'hub.jsonl'))
const context = { tally, violations, groups, recorder, members: new Map<string, Member>() }
const hub = new HubHost(context)
await hub.start()
const members = Array.from({ length: options.clients }, (_, i) => new Member(context, hub, i, random.fork()))
const activities = members.flatMap(member => [
  new RandomInterval(random.fork(), SEND_EVERY / stress, () => member.send()),
  new RandomInterval(random.fork(), TURN_EVERY / stress, () => member.toggleGroup()),
])
const faults = new FaultInjector(run, {
  links: members.map(({ link }) => link),
  faultIntervalMs: FAULT_INTERVAL_MS / stress,
  service: hub,
  killIntervalMs: RESTART_EVERY / stress,
  clients: members,
})

/** Injects faults for the given time, then waits until all activity has ended. */
async function injectFaults(ms: number) {
  await faults.run(ms, activities)
  if (!(await until(QUIET_TIMEOUT_MS, () => members.every(({ isQuiet }) => isQuiet)))) {
    const loud = members.filter(({ isQuiet }) => !isQuiet).map(({ name, pending }) => `${name} (${pending} sends)`)
    violations.add('does not settle', loud.join(', '))
  }
  await setTimeout(WITNESS_LAG_MS)
  recorder.flush()
  return resourcesNow()
}

const describe = () =>
  `${tally.of('cuts')} cuts, ${tally.of('kills')} restarts, ${tally.of('sessions')} sessions, ${tally.of('sends: acked')} acknowledged, ${tally.of('delivered')} delivered`

await run.execute(describe, async () => {
  for (const member of members) await member.start()
  const early = await injectFaults(duration / 4)
  const late = await injectFaults((duration * 3) / 4)
  run.judgeHeap(early, late)
  for (const member of members) await member.stop()
  await hub.stop()
  await run.judgeLeftOver()
  recorder.close()
  const judge = new HubJudge(violations)
  for await (const record of recorder.read()) judge.add(record)
  judge.judge()
  return [['missed by a witness when the hub ended', judge.unseen], ...resourceRows(early, late)]
})
