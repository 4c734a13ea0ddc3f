// Real clients, a real hub, real sockets, and everything goes wrong; in the end every promise must have held.

import { Complaints } from '../complaints.js'
import { Faults } from '../faults.js'
import { Pace, until } from '../pace.js'
import { showProgress } from '../progress.js'
import { Random } from '../random.js'
import { HEAP_BOUND, leftOver, resourcesNow } from '../resources.js'
import { zeroCounts } from './counts.js'
import { HubHost } from './hub-host.js'
import { Ledger } from './ledger.js'
import { Member } from './member.js'
import { readOptions } from './options.js'
import { report } from './report.js'

/** How often a client sends, and begins or ends to listen to a group, ms. */
const SEND_EVERY = 150
const TURN_EVERY = 1_500
const RESTART_EVERY = 8_000
/** How long it may take until all is quiet, ms: sends have their time, and sessions theirs. */
const QUIET_WITHIN = 30_000
/** The witnesses are at most so much behind, ms; stays that ended are judged by then. */
const LAG = 3_500

const options = readOptions()
const { duration, seed, stress } = options
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${options.clients} clients, ${options.groups} groups, stress ${stress}`,
)

// Until everything was judged, it has failed.
process.exitCode = 1
const complaints = new Complaints()
process.on('unhandledRejection', error => complaints.add('unhandled rejection', error))
process.on('uncaughtException', error => complaints.add('uncaught exception', error))
process.on('warning', warning => complaints.add('warning', warning))
const before = process.getActiveResourcesInfo()

const random = new Random(seed)
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

/** Everything goes wrong for a while; then nothing more, until all is quiet. */
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

async function run() {
  for (const member of members) await member.enter()
  const early = await trouble(duration / 4)
  const late = await trouble((duration * 3) / 4)
  if (late.heap - early.heap > HEAP_BOUND) complaints.add('heap', `from ${early.heap} to ${late.heap} bytes`)
  for (const member of members) await member.leave()
  await hub.stop()
  await pause(LAG)
  ledger.judge()
  endProgress()
  await until(QUIET_WITHIN, () => leftOver(before).length === 0)
  for (const name of leftOver(before)) complaints.add('left behind', name)
  return report({ counts, ledger, early, late, complaints })
}

function pause(ms: number) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

const endProgress = showProgress(() => {
  const { cuts, restarts, delivered, recoveries, sessions } = counts
  return `${cuts} cuts, ${restarts} restarts, ${recoveries} recoveries, ${sessions} sessions, ${ledger.size} sent, ${delivered} delivered, ${complaints.count} violations`
})
// Errors of the run itself end it; they must not pass for a good end.
const table = await run().catch(error => complaints.add('the run failed', error))
endProgress()
if (table) console.log(table)
for (const line of complaints.lines) console.log(line)
if (complaints.count > 0) console.log(`Again: --seed ${seed}`)
process.exit(complaints.count === 0 ? 0 : 1)
