// Three processes elect the leader of a pump station. The first leader is killed, and the next one is stopped.

import { connect, Hlc, json, StateStoreError } from 'rx-statestore'
import { fenced, watchHolder } from 'rx-statestore/lease'
import { serve } from 'rx-statestore/server'
import { firstValueFrom } from 'rxjs'
import { check, heading, say } from '../transcript.js'
import { until } from '../until.js'
import { clientOf, Member } from './crew.js'
import { LEASE, SPEED, STATION } from './station.js'

/** The speed at which a leader has renewed its lease. The leader increases the speed with each write. */
const STEADY_RPM = 912

const server = await serve({ port: 0, wsPort: 0 })
say('store', `listens on ${server.url}`)
const panel = connect(server.url, { clientId: 'panel' })
/** @type {import('rx-statestore').Key<import('./station.js').Speed>} */
const speed = panel.key(SPEED, json())
/** The successive writers of the speed. @type {string[]} */
const writers = []
speed.value$.subscribe(value => {
  if (value !== undefined && value.by !== writers.at(-1)) writers.push(value.by)
})

/** @param {Member} member */
const isLeader = member => member.role$.value?.role === 'leader'

/** @param {readonly Member[]} members */
async function leaderAmong(members) {
  const { value } = await until(speed.entries$, entry => members.some(({ name }) => name === entry.value?.by))
  const leader = members.find(({ name }) => name === value?.by)
  if (leader === undefined) throw new Error('no member leads')
  const report = await until(leader.role$, role => role?.role === 'leader')
  return { leader, token: Hlc.parse(report?.role === 'leader' ? report.token : '') }
}

/**
 * Measures the time from `since` to the first accepted write of the next leader, ms.
 *
 * @param {readonly Member[]} members
 * @param {number} since
 */
async function succession(members, since) {
  const entry = await until(speed.entries$, ({ value }) => members.some(({ name }) => name === value?.by))
  const took = Math.round(performance.now() - since)
  say('panel', `sees the first speed by ${entry.value?.by}`, entry)
  return { took, ...(await leaderAmong(members)) }
}

/**
 * Writes with an old token, as a former leader does if it continues after another member took over.
 *
 * @param {Hlc} token
 */
const writeWith = token =>
  firstValueFrom(fenced(panel, token).key(SPEED, json()).set({ by: 'late', rpm: 0 })).then(
    () => 'accepted',
    error => (error instanceof StateStoreError ? error.code : String(error)),
  )

heading(`1. Three processes, one leader; its lease lasts ${LEASE.duration} ms`)
const names = /** @type {const} */ (['pump-1', 'pump-2', 'pump-3'])
const crew = names.map(name => new Member(name, server.url))
const first = await leaderAmong(crew)
for (const { role$ } of crew) await until(role$, report => report?.role === 'leader' || report?.leader !== undefined)
const followed = crew.flatMap(({ role$: { value } }) => (value?.role === 'follower' ? [clientOf(value.leader)] : []))
check('one leads', crew.filter(isLeader).length, 1)
check('the others follow it', followed, [first.leader.name, first.leader.name])
const steady = await until(speed.entries$, ({ value }) => value !== undefined && value.rpm >= STEADY_RPM)
say('panel', `sees the pump at ${STEADY_RPM} rpm`, steady)

heading('2. The leader is killed')
const killedAt = performance.now()
say('operator', `kills ${first.leader.name} (SIGKILL)`)
const rest = crew.filter(member => member !== first.leader)
const [second] = await Promise.all([succession(rest, killedAt), first.leader.kill()])
say('panel', `takeover: ${second.took} ms, as the lease had to expire`)
check('the new token is newer', second.token.compareTo(first.token) > 0, true)
const late = await writeWith(first.token)
say('panel', `a late write by ${first.leader.name}: ${late}`, { version: first.token })
check('a late write of the killed leader is rejected', late, 'fencing-token-stale')

heading('3. The leader stops')
const stoppedAt = performance.now()
say('operator', `asks ${second.leader.name} to stop`)
const last = rest.filter(member => member !== second.leader)
const [third, [exitCode]] = await Promise.all([succession(last, stoppedAt), second.leader.stop()])
say('panel', `handover: ${third.took} ms, as it released the lease`)
check('it exited with code 0', exitCode, 0)
check('the handover was faster than the takeover', third.took < second.took, true)
check('no other member wrote', writers, [first.leader.name, second.leader.name, third.leader.name])

await third.leader.stop()
check('the lease is free at the end', await firstValueFrom(watchHolder(panel, STATION)), undefined)
await panel.close()
await server.close()
heading(`Done: takeover ${second.took} ms, handover ${third.took} ms.`)
