// This program runs real clients and a real hub over real sockets under constant faults, then checks every guarantee.

import { FaultInjector } from '../fault-injector.js'
import { RandomInterval, until } from '../random-interval.js'
import { resourcesNow } from '../resources.js'
import { Run, readOptions, resourceRows, rowsOf } from '../run.js'
import { zeroCounts } from './counts.js'
import { HubHost } from './hub-host.js'
import { Ledger } from './ledger.js'
import { Member } from './member.js'

/** The mean intervals in ms between sends of a client, and between changes of its groups. */
const SEND_INTERVAL_MS = 150
const TURN_EVERY = 1_500
const RESTART_EVERY = 8_000
/** The maximum time in ms until all activity has ended, including the timeouts of sends and sessions. */
const QUIET_TIMEOUT_MS = 30_000
/** The maximum lag of the witnesses in ms, after which ended memberships have been checked. */
const MAX_WITNESS_LAG_MS = 3_500

const options = readOptions({ clients: 20, groups: 10, stress: 1 })
const { duration, seed, stress } = options
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${options.clients} clients, ${options.groups} groups, stress ${stress}`,
)

const run = new Run(seed)
const { violations, random } = run
const counts = zeroCounts()
const ledger = new Ledger(violations)
const byName: Map<string, Member> = new Map()
const context = { options, counts, ledger, violations, members: byName }
const hub = new HubHost(context)
await hub.start()
const members = Array.from({ length: options.clients }, (_, i) => new Member(context, hub, i, random.fork()))
const paces = members.flatMap(member => [
  new RandomInterval(random.fork(), SEND_INTERVAL_MS / stress, () => member.send()),
  new RandomInterval(random.fork(), TURN_EVERY / stress, () => member.toggleGroup()),
])
const faults = new FaultInjector(context, hub, members, random.fork(), RESTART_EVERY)

/** Injects faults for the given time, then waits until all activity has ended. */
async function trouble(ms: number) {
  for (const pace of paces) pace.resume()
  faults.start()
  await pause(ms)
  for (const pace of paces) pace.pause()
  await faults.stop()
  if (!(await until(QUIET_TIMEOUT_MS, () => members.every(({ isQuiet }) => isQuiet)))) {
    const loud = members.filter(({ isQuiet }) => !isQuiet).map(({ name, pending }) => `${name} (${pending} sends)`)
    violations.add('does not settle', loud.join(', '))
  }
  await pause(MAX_WITNESS_LAG_MS)
  return resourcesNow()
}

function pause(ms: number) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function describe() {
  const { cuts, restarts, delivered, recoveries, sessions } = counts
  return `${cuts} cuts, ${restarts} restarts, ${recoveries} recoveries, ${sessions} sessions, ${ledger.size} sent, ${delivered} delivered`
}

await run.execute(describe, async () => {
  for (const member of members) await member.start()
  const early = await trouble(duration / 4)
  const late = await trouble((duration * 3) / 4)
  run.judgeHeap(early, late)
  for (const member of members) await member.stop()
  await hub.stop()
  await pause(MAX_WITNESS_LAG_MS)
  ledger.check()
  await run.judgeLeftOver()
  const { pending: _, ...outcomes } = ledger.tally
  return [
    ...rowsOf(counts),
    ['messages sent', ledger.size],
    ...rowsOf(outcomes),
    ['missed by a witness when the hub ended', ledger.unseen],
    ...resourceRows(early, late),
  ]
})
