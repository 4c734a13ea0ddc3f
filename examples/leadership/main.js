// Three processes can run a pump station, one of them leads; then it is killed, and its follower is sent home.

import { connect, Hlc, json, StateStoreError } from 'rx-statestore'
import { fenced, lease } from 'rx-statestore/lease'
import { serve } from 'rx-statestore/server'
import { firstValueFrom } from 'rxjs'
import { check, heading, say } from '../transcript.js'
import { until } from '../until.js'
import { clientOf, Member } from './crew.js'
import { LEASE, SPEED, STATION } from './station.js'

/** The leader speeds the pump up as it goes: when this is reached, it has renewed its lease. */
const STEADY = 912

const server = await serve({ port: 0, wsPort: 0 })
say('store', `listens on ${server.url}`)
const panel = connect(server.url, { clientId: 'panel' })
/** @type {import('rx-statestore').Key<import('./station.js').Speed>} */
const speed = panel.key(SPEED, json())
/** Writers of the speed, without repetitions. @type {string[]} */
const writers = []
speed.value$.subscribe(value => {
  if (value !== undefined && value.by !== writers.at(-1)) writers.push(value.by)
})

/** @param {Member} member */
const isLeader = member => member.news$.value?.role === 'leader'

/** @param {readonly Member[]} members */
async function leaderAmong(members) {
  const { value } = await until(speed.entries$, entry => members.some(({ name }) => name === entry.value?.by))
  const leader = members.find(({ name }) => name === value?.by)
  if (leader === undefined) throw new Error('nobody leads')
  const news = await until(leader.news$, state => state?.role === 'leader')
  return { leader, token: Hlc.parse(news?.role === 'leader' ? news.token : '') }
}

/**
 * The time from one leader to the next: from `since` to the first accepted write of the next leader, ms.
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
 * A write as a leader makes that comes to itself after others have gone on.
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
for (const { news$ } of crew) await until(news$, news => news?.role === 'leader' || news?.leader !== undefined)
const followed = crew.flatMap(({ news$: { value } }) => (value?.role === 'follower' ? [clientOf(value.leader)] : []))
check('one leads', crew.filter(isLeader).length, 1)
check('the others follow it', followed, [first.leader.name, first.leader.name])
const steady = await until(speed.entries$, ({ value }) => value !== undefined && value.rpm >= STEADY)
say('panel', `sees the pump at ${STEADY} rpm`, steady)

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
check('it ended by itself', exitCode, 0)
check('the handover was faster than the takeover', third.took < second.took, true)
check('no other member wrote', writers, [first.leader.name, second.leader.name, third.leader.name])

await third.leader.stop()
check('in the end the lease is free', await firstValueFrom(lease(panel, STATION, LEASE).holder$), undefined)
await panel.close()
await server.close()
heading(`Done: takeover ${second.took} ms, handover ${third.took} ms.`)
