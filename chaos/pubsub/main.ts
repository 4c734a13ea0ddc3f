// Runs real clients and a real hub over real sockets under constant faults, then checks every guarantee.

import { Faults } from '../faults.js'
import { Pace, until } from '../pace.js'
import { resourcesNow } from '../resources.js'
import { Run, readOptions, resourceRows, rowsOf } from '../run.js'
import { zeroCounts } from './counts.js'
import { HubHost } from './hub-host.js'
import { Ledger } from './ledger.js'
import { Member } from './member.js'

/** Mean interval between sends of a client, and between changes of its groups, ms. */
const SEND_EVERY = 150
const TURN_EVERY = 1_500
const RESTART_EVERY = 8_000
/** Maximum time until all activity has ended, ms, including the timeouts of sends and sessions. */
const QUIET_WITHIN = 30_000
/** Maximum lag of the witnesses, ms; by then, ended memberships have been checked. */
const LAG = 3_500

const options = readOptions({ clients: 20, groups: 10, stress: 1 })
const { duration, seed, stress } = options
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${options.clients} clients, ${options.groups} groups, stress ${stress}`,
)

const run = new Run(seed)
const { complaints, random } = run
const counts = zeroCounts()
const ledger = new Ledger(complaints)
const byName: Map<string, Member> = new Map()
const world = { options, counts, ledger, complaints, members: byName }
const hub = new HubHost(world)
await hub.start()
const members = Array.from({ length: options.clients }, (_, i) => new Member(world, hub, i, random.fork()))
const paces = members.flatMap(member => [
  new Pace(random.fork(), SEND_EVERY / stress, () => member.act()),
  new Pace(random.fork(), TURN_EVERY / stress, () => member.turn()),
])
const faults = new Faults(world, hub, members, random.fork(), RESTART_EVERY)

/** Injects faults for a while, then waits until all activity has ended. */
async function trouble(ms: number) {
  for (const pace of paces) pace.resume()
  faults.start()
  await pause(ms)
  for (const pace of paces) pace.pause()
  await faults.stop()
  if (!(await until(QUIET_WITHIN, () => members.every(({ isQuiet }) => isQuiet)))) {
    const loud = members.filter(({ isQuiet }) => !isQuiet).map(({ name, pending }) => `${name} (${pending} sends)`)
    complaints.add('does not settle', loud.join(', '))
  }
  await pause(LAG)
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
  for (const member of members) await member.enter()
  const early = await trouble(duration / 4)
  const late = await trouble((duration * 3) / 4)
  run.judgeHeap(early, late)
  for (const member of members) await member.leave()
  await hub.stop()
  await pause(LAG)
  ledger.judge()
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
