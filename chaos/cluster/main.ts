// This program runs three nodes of a store on three NATS servers with real clients, with links between all of them,
// under constant faults. Then it checks every guarantee.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_NATS_SERVER, natsServer } from '../../scripts/nats-server.js'
import { zeroCounts } from '../counts.js'
import { FaultInjector } from '../fault-injector.js'
import { Participant } from '../participant.js'
import { Random } from '../random.js'
import { RandomInterval, until } from '../random-interval.js'
import { Recorder } from '../recorder.js'
import { type Row, Run, readOptions, rowsOf } from '../run.js'
import { converge, settle } from '../settle.js'
import { findFreePorts } from '../supervisor.js'
import { Incidents } from './incidents.js'
import { judgeLog } from './judge-log.js'
import { checkLinearizability, checkNodes, readLast } from './judgement.js'
import { LeaseHoldings, Leases } from './leases.js'
import { LogAudit } from './log-audit.js'
import { NatsServers } from './nats.js'
import { StoreNodes } from './nodes.js'
import { buildChecker, hasGo, type Verdict } from './porcupine.js'
import { RegisterClient, RegisterHistories } from './registers.js'
import { TakeoverTimes } from './takeover-times.js'

/** The mean intervals in ms between the activities of each client. */
const WRITE_INTERVAL_MS = 250
const WATCH_EVERY = 300
const GLOB_EVERY = 1_000
const REGISTER_EVERY = 80
const LEASE_EVERY = 3_000
const FENCED_EVERY = 400
/** The mean interval in ms between incidents. */
const INCIDENT_INTERVAL_MS = 1_500
/** The factors by which faults are rarer on each link of a client, which has three links, and on the links of NATS. */
const FAULT_INTERVAL_FACTOR = { clients: 3, nats: 12 }
const QUIET_WITHIN = 30_000

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
  `chaos: ${duration / 1000} s, seed ${seed}, 3 nodes on 3 NATS servers, ${options.keys} keys, ${options.clients} clients, stress ${stress}`,
)

const run = new Run(seed)
const { violations, random, directory } = run
const recorder = new Recorder(join(directory, 'seen.jsonl'))
const keys = Array.from({ length: options.keys }, (_, i) => `chaos/${i}`)
const complain = (what: string) => violations.add('process', what)
// The ports do not depend on the seed, so that two identical runs at the same time use different ports.
const ports = await findFreePorts(new Random(process.pid), NatsServers.ports + StoreNodes.ports)
const nats = new NatsServers(program, directory, ports, complain, random.fork())
const nodes = new StoreNodes('chaos', directory, ports.slice(NatsServers.ports), nats.ports, complain, random.fork())
const audit = new LogAudit(join(directory, 'log.jsonl'), violations)
const context = {
  options,
  keys,
  addresses: nodes.addresses,
  recorder,
  violations,
  counts: zeroCounts(),
  // This code comes with status 503, which guarantees that the write was not applied.
  unavailableCodes: ['request-rejected'],
  // This code comes from a lease that was not renewed in time.
  expectedCodes: ['outcome-unknown'],
}
const [histories, holdings, takeovers] = [new RegisterHistories(), new LeaseHoldings(), new TakeoverTimes()]

const members = Array.from({ length: options.clients }, (_, number) => {
  const participant = new Participant(context, number, random.fork())
  const answered = (invoked: number) => takeovers.recordResponse(participant.name, invoked)
  const registers = new RegisterClient(histories, participant, number, random.fork(), violations, answered)
  const leases = new Leases(holdings, participant, number, violations)
  participant.activities.push(registers, leases)
  return { participant, registers, leases }
})
const participants = members.map(({ participant }) => participant)
const paces = members.flatMap(({ participant: { writers, watchers, globs }, registers, leases }) => [
  new RandomInterval(random.fork(), WRITE_INTERVAL_MS / stress, () => writers.performRequests()),
  new RandomInterval(random.fork(), WATCH_EVERY / stress, () => watchers.changeWatches()),
  new RandomInterval(random.fork(), GLOB_EVERY / stress, () => globs.changeWatches()),
  new RandomInterval(random.fork(), REGISTER_EVERY / stress, () => registers.performOperation()),
  new RandomInterval(random.fork(), LEASE_EVERY / stress, () => leases.toggle()),
  new RandomInterval(random.fork(), FENCED_EVERY / stress, () => leases.write()),
])
const incidents = new Incidents(
  {
    nodes,
    nats,
    leader: () => audit.leader,
    onNodeEnding: at =>
      takeovers.recordNodeEnd(participants.filter(({ address }) => address === at).map(({ name }) => name)),
    onLeaderEnding: () => takeovers.recordLeaderEnd(),
  },
  random.fork(),
)
const calmer = (by: number) => ({ ...context, options: { stress: stress / by } })
const faults = [
  new FaultInjector(
    calmer(FAULT_INTERVAL_FACTOR.clients),
    incidents,
    participants.flatMap(one => one.faultTargets),
    random.fork(),
    INCIDENT_INTERVAL_MS / FAULT_INTERVAL_FACTOR.clients,
  ),
  new FaultInjector(
    calmer(FAULT_INTERVAL_FACTOR.nats),
    undefined,
    [...nats.routes.links, ...nodes.links.links].map(link => ({ link })),
    random.fork(),
  ),
]

/** Waits until every request has an outcome and every client has read the keys that it watches. */
async function quiet() {
  await until(QUIET_WITHIN, () => participants.every(({ isSynced }) => isSynced))
  await settle(context, participants)
  if (!(await until(QUIET_WITHIN, () => members.every(({ registers }) => registers.pending === 0))))
    violations.add('does not settle', `${members.map(({ registers }) => registers.pending)} operations on registers`)
}

function describe() {
  const { tried, notifications } = context.counts
  return `${incidents.count} incidents, ${tried} writes, ${histories.size} operations, ${notifications} notifications, ${audit.position} messages`
}

const verdictRows = ({ keys, operations, unknown, illegal, undecided }: Verdict): Row[] => [
  ['linearizable keys, by porcupine', `${keys - illegal.length - undecided.length} of ${keys}`],
  ['  operations, those with an unknown outcome', `${operations}, ${unknown}`],
]

await run.execute(describe, async () => {
  await nats.start()
  await nodes.start()
  await audit.start('chaos', nats.ports)
  for (const participant of participants) await participant.start()
  for (const pace of paces) pace.resume()
  for (const one of faults) one.start()
  await new Promise(resolve => setTimeout(resolve, duration))
  for (const pace of paces) pace.pause()
  // All links must be repaired before the program waits for anything else.
  await Promise.all(faults.map(one => one.stop()))
  await quiet()
  for (const { leases } of members) leases.stop()
  const end = await converge(context, participants)
  await readLast(histories, context.addresses[0]?.port ?? 0, violations)
  const equal = await checkNodes(nodes, violations)
  for (const participant of participants) await participant.stop()
  await nodes.stop()
  await audit.stop()
  await nats.stop()
  for (const { links } of participants) for (const link of links) await link.close()
  recorder.close()
  console.error('judging')
  writeFileSync(join(directory, 'histories.jsonl'), Array.from(histories.lines()).join(''))
  holdings.check(violations)
  const log = await judgeLog({
    directory,
    log: audit.path,
    recorder,
    known: histories.answered,
    stored: end.stored,
    violations,
  })
  const verdict = hasChecker ? await checkLinearizability(histories, directory, violations) : undefined
  return [
    ...Object.entries(incidents.counts),
    ...rowsOf(context.counts),
    ['nodes that waited for the log', nodes.counts.waits],
    ['nodes that failed to start at first', nodes.counts.retries],
    ['takeover from a node: median, most', takeovers.summary.nodes],
    ['takeover from a leader: median, most', takeovers.summary.leaders],
    ['leases held', holdings.all.length],
    ['  writes by their tokens, refused', `${holdings.fenced}, ${holdings.stale}`],
    ['messages in the log, writes', `${log.messages}, ${log.requests}`],
    ...end.rows,
    ['nodes with the same', equal],
    ...(verdict ? verdictRows(verdict) : []),
  ]
})
