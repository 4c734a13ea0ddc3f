// This program runs three nodes of a store on three NATS servers with real clients, with links between all of them,
// under constant faults. Then it checks every guarantee.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../../harness/free-port.js'
import { findLeaseViolations } from '../../harness/judges/leases.js'
import { NO_NATS_SERVER, natsServer } from '../../scripts/nats-server.js'
import { FAULT_INTERVAL_MS, FaultInjector } from '../fault-injector.js'
import { type LeaseHoldings, Leases } from '../leases.js'
import { Participant } from '../participant.js'
import { RandomInterval, until } from '../random-interval.js'
import { Recorder } from '../recorder.js'
import { Run, readOptions } from '../run.js'
import { converge, settle } from '../settle.js'
import { storePortsOf } from '../store-ports.js'
import { Incidents } from './incidents.js'
import { judgeLog } from './judge-log.js'
import { checkLinearizability, checkNodes, readLast } from './judgement.js'
import { LogAudit } from './log-audit.js'
import { NatsServers } from './nats.js'
import { StoreNodes } from './nodes.js'
import { buildChecker, hasGo } from './porcupine.js'
import { RegisterClient, RegisterHistories } from './registers.js'
import { TakeoverTimes } from './takeover-times.js'

const NODES = 3
const SERVERS = 3
/** The mean intervals in ms between each client's activities. */
const WRITE_EVERY = 250
const WATCH_EVERY = 300
const GLOB_EVERY = 1_000
const REGISTER_EVERY = 80
const LEASE_EVERY = 3_000
const FENCED_EVERY = 400
/** The mean interval in ms between incidents. */
const INCIDENT_EVERY = 1_500
/** The factors by which faults are rarer on each link of a client, which has three links, and on the links of NATS. */
const RARER = { clients: 3, nats: 12 }
const QUIET_TIMEOUT_MS = 30_000

const options = readOptions({ keys: 60, clients: 8, stress: 1 })
const { duration, seed, stress } = options
const program = natsServer()
if (program === undefined) {
  console.error(`chaos:cluster ${NO_NATS_SERVER}`)
  process.exit(1)
}
const hasChecker = hasGo()
if (!hasChecker) console.log('skipped: the linearizability check by porcupine (requires go)')
if (!hasChecker && process.env['CI']) process.exit(1)
if (hasChecker) await buildChecker()
console.log(
  `chaos: ${duration / 1000} s, seed ${seed}, ${NODES} nodes on ${SERVERS} NATS servers, ${options.keys} keys, ${options.clients} clients, stress ${stress}`,
)

const run = new Run(seed)
const { violations, random, directory, tally } = run
const recorder = new Recorder(join(directory, 'seen.jsonl'))
const ports = await freePorts(2 * (SERVERS + NODES))
const nats = new NatsServers(program, run, ports.splice(0, 2 * SERVERS))
const nodes = new StoreNodes(run, 'chaos', storePortsOf(ports), nats.ports)
const audit = new LogAudit(join(directory, 'log.jsonl'), violations)
const context = {
  violations,
  tally,
  recorder,
  keys: Array.from({ length: options.keys }, (_, i) => `chaos/${i}`),
  addresses: nodes.addresses,
  // This code comes with status 503, which guarantees that the write was not applied.
  unavailableCodes: ['request-rejected'],
  // This code comes from a lease that was not renewed in time.
  expectedCodes: ['outcome-unknown'],
}
const histories = new RegisterHistories()
const holdings: LeaseHoldings = []
const takeovers = new TakeoverTimes()

const members = Array.from({ length: options.clients }, (_, number) => {
  const participant = new Participant(context, number, random.fork())
  const registers = new RegisterClient(histories, participant, {
    number,
    random: random.fork(),
    violations,
    onAnswered: invoked => takeovers.recordResponse(participant.name, invoked),
  })
  const leases = new Leases(run, holdings, participant, number)
  participant.activities.push(registers, leases)
  return { participant, registers, leases }
})
const participants = members.map(({ participant }) => participant)
const activities = members.flatMap(({ participant: { writers, watchers }, registers, leases }) => [
  new RandomInterval(random.fork(), WRITE_EVERY / stress, () => writers.performRequests()),
  new RandomInterval(random.fork(), WATCH_EVERY / stress, () => watchers.changeKeys()),
  new RandomInterval(random.fork(), GLOB_EVERY / stress, () => watchers.changeGlobs()),
  new RandomInterval(random.fork(), REGISTER_EVERY / stress, () => registers.performOperation()),
  new RandomInterval(random.fork(), LEASE_EVERY / stress, () => leases.toggle()),
  new RandomInterval(random.fork(), FENCED_EVERY / stress, () => leases.write()),
])
const incidents = new Incidents(
  {
    nodes,
    nats,
    audit,
    onNodeEnding: at =>
      takeovers.recordNodeEnd(participants.filter(({ address }) => address === at).map(({ name }) => name)),
    onLeaderEnding: () => takeovers.recordLeaderEnd(),
  },
  run,
)
const faults = [
  new FaultInjector(run, {
    links: participants.flatMap(({ links }) => links),
    faultIntervalMs: (FAULT_INTERVAL_MS * RARER.clients) / stress,
    service: incidents,
    killIntervalMs: INCIDENT_EVERY / stress,
    clients: participants,
  }),
  new FaultInjector(run, {
    links: [...nats.routes.links, ...nodes.links.links],
    faultIntervalMs: (FAULT_INTERVAL_MS * RARER.nats) / stress,
  }),
]

/** Waits until every request has an outcome and every client has read the keys that it watches. */
async function quiet() {
  await until(QUIET_TIMEOUT_MS, () => participants.every(({ isSynced }) => isSynced))
  await settle(context, participants)
  if (!(await until(QUIET_TIMEOUT_MS, () => members.every(({ registers }) => registers.pending === 0))))
    violations.add('does not settle', `${members.map(({ registers }) => registers.pending)} operations on registers`)
}

const describe = () =>
  `${tally.of('incidents')} incidents, ${tally.of('writes')} writes, ${histories.size} operations, ${tally.of('notifications')} notifications, ${audit.position} messages`

await run.execute(describe, async () => {
  await nats.start()
  await nodes.start()
  await audit.start('chaos', nats.ports)
  for (const participant of participants) await participant.start()
  // All links must be repaired before the program waits for anything else.
  await Promise.all(faults.map(one => one.run(duration, activities)))
  await quiet()
  for (const { leases } of members) leases.stop()
  const { stored, row } = await converge(context, participants)
  await readLast(histories, nodes.addresses[0]?.port ?? 0, violations)
  await checkNodes(nodes, violations)
  for (const participant of participants) await participant.stop()
  await nodes.stop()
  await audit.stop()
  await nats.stop()
  for (const { links } of participants) for (const link of links) await link.close()
  recorder.close()
  console.error('judging')
  writeFileSync(join(directory, 'histories.jsonl'), Array.from(histories.lines()).join(''))
  for (const wrong of findLeaseViolations(holdings)) violations.add('lease', wrong)
  const log = await judgeLog({ recorder, log: audit.read(), known: histories.answered, stored, violations })
  const rows = hasChecker ? await checkLinearizability(histories, directory, violations) : []
  return [
    ...takeovers.rows,
    ['leases held', holdings.length],
    ['messages in the log, writes', `${log.messages}, ${log.requests}`],
    row,
    ...rows,
  ]
})
