// Two clients chat through a hub while the connection of one client is cut. Then a client without MQTT reads and writes
// a key.

import { connect, number } from 'rx-statestore'
import { bridge } from 'rx-statestore/bridge'
import { servePubSub } from 'rx-statestore/pubsub/server'
import { serve } from 'rx-statestore/server'
import { filter, firstValueFrom, map, ReplaySubject } from 'rxjs'
import { layLink } from '../demo/link.js'
import { check, heading, say } from '../transcript.js'
import { until } from '../until.js'
import { ChatMember, GROUP } from './chat-member.js'

/** Time that the hub keeps the session of a disconnected client, ms. */
const RETENTION_MS = 1_000
const KEY = 'thermostat1/setPoint'

const server = await servePubSub({
  port: 0,
  retention: RETENTION_MS,
  authenticate: { key: 'a secret key of at least 32 bytes' },
})
const hub = server.hub('home')
say('hub', `listens on ${hub.url}`)
const link = await layLink(server.port)
const roles = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']

/**
 * @param {string} userId
 * @param {number} port
 */
async function urlFor(userId, port) {
  const url = new URL((await hub.token({ userId, roles })).url)
  url.port = String(port)
  return url.href
}

/** @param {ChatMember} member @param {unknown[]} messages */
async function hasReceived(member, messages) {
  if (member.received.length < messages.length) {
    await until(member.group.messages$, () => member.received.length >= messages.length)
  }
  return JSON.stringify(member.received) === JSON.stringify(messages)
}

/** @param {ChatMember} member */
const sessionOf = async member => {
  const status = await until(member.client.status$, ({ state }) => state === 'connected')
  return status.state === 'connected' ? status.connectionId : ''
}

/** @param {readonly unknown[]} messages */
async function annSends(...messages) {
  for (const message of messages) await ann.group.send(message, { noEcho: true })
  say('ann', `sent ${messages.join(', ')}: acknowledged`)
}

heading('1. Two clients at a hub')
const ann = new ChatMember('ann', () => urlFor('ann', server.port))
const bob = new ChatMember('bob', () => urlFor('bob', link.port))
await until(hub.memberships$, () => hub.connections.filter(({ groups }) => groups.includes(GROUP)).length === 2)
const session = await sessionOf(bob)
await annSends(1, 2)
check('bob receives both', await hasReceived(bob, [1, 2]), true)

heading('2. The connection of bob is cut; both continue to send')
link.cut()
say('link', 'cut')
await until(bob.client.status$, ({ state }) => state === 'recovering')
const answer = firstValueFrom(bob.group.send('still here', { noEcho: true }))
await annSends(3, 4, 5)

heading('3. The connection is restored')
link.restore()
say('link', 'restored')
await answer
say('bob', 'sent "still here": acknowledged')
check('bob has recovered his session', await sessionOf(bob), session)
check('he received everything once and in order', await hasReceived(bob, [1, 2, 3, 4, 5]), true)
check('his message while offline arrived once', await hasReceived(ann, ['still here']), true)
check('no gap was reported to him', bob.gaps, [])

heading(`4. The connection is cut for longer than the ${RETENTION_MS} ms that the hub keeps the session`)
const expired = firstValueFrom(hub.connections$.pipe(filter(({ type }) => type === 'disconnected')))
link.cut()
say('link', 'cut')
const end = await expired
say('hub', `has ended the session of bob: ${end.type === 'disconnected' ? end.reason : ''}`)
await annSends(6, 7)
link.restore()
say('link', 'restored')
await until(bob.group.gaps$, () => bob.gaps.length === 1)
await annSends(8)
check('bob has another session', (await sessionOf(bob)) !== session, true)
check('only the messages sent in between are lost', await hasReceived(bob, [1, 2, 3, 4, 5, 8]), true)
check('the gap was reported once', bob.gaps.length, 1)

heading('5. A key of a state store, for clients without MQTT')
const store = await serve({ port: 0, wsPort: 0 })
const plant = connect(store.url, { clientId: 'plant' })
const panel = connect(store.url, { clientId: 'panel' })
const setPoint = panel.key(KEY, number)
const { version } = await setPoint.set(20)
say('panel', 'turns the set point to 20', { version })
const keys = bridge(plant, hub, { write: ({ userId }) => userId === 'bob' })

/** @type {ReplaySubject<import('rx-statestore/bridge').KeyEntry<number>>} */
const entries$ = new ReplaySubject()
const messages$ = bob.client.group(`key:${KEY}`).messages$
messages$
  .pipe(map(({ data }) => /** @type {import('rx-statestore/bridge').KeyMessage<number>} */ (data)))
  .pipe(filter(message => message.type === 'entry'))
  .subscribe(entries$)
entries$.subscribe(entry => say('bob', `sees the set point: ${entry.op === 'set' ? entry.value : entry.op}`, entry))
const first = await firstValueFrom(entries$)
check('bob received the current entry', [first.op, first.version], ['set', String(version)])
await bob.client.sendEvent('key:set', { key: KEY, value: 22 })
say('bob', 'turns the set point to 22: acknowledged')
await until(entries$, entry => entry.op === 'set' && entry.value === 22)
check('the panel sees it', await until(setPoint.value$, value => value === 22), 22)
const refusal = await ann.client.sendEvent('key:set', { key: KEY, value: 99 }).then(
  () => 'accepted',
  error => error.hubError?.name,
)
say('ann', `tries to turn it to 99: ${refusal}`)
check('ann is not permitted to write', refusal, 'Forbidden')

keys.close()
for (const { client } of [ann, bob]) await client.close()
for (const closing of [plant, panel, link, server, store]) await closing.close()
heading('Done: every claim was checked.')
