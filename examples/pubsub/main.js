// Two friends talk at a hub while the cable of one is cut; then a browser that knows no MQTT reads and writes a key.

import { connect, number } from 'rx-statestore'
import { bridge } from 'rx-statestore/bridge'
import { servePubSub } from 'rx-statestore/pubsub/server'
import { serve } from 'rx-statestore/server'
import { filter, firstValueFrom, map, ReplaySubject } from 'rxjs'
import { layLink } from '../demo/link.js'
import { check, heading, say } from '../transcript.js'
import { until } from '../until.js'
import { Friend, GROUP } from './friend.js'

/** How long the hub keeps the session of a disconnected client, ms. */
const RETENTION = 1_000
const KEY = 'thermostat1/setPoint'

const server = await servePubSub({
  port: 0,
  retention: RETENTION,
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

/** @param {Friend} friend @param {unknown[]} heard */
async function hears(friend, heard) {
  if (friend.heard.length < heard.length) {
    await until(friend.group.messages$, () => friend.heard.length >= heard.length)
  }
  return JSON.stringify(friend.heard) === JSON.stringify(heard)
}

/** @param {Friend} friend */
const sessionOf = async friend => {
  const status = await until(friend.client.status$, ({ state }) => state === 'connected')
  return status.state === 'connected' ? status.connectionId : ''
}

/** @param {readonly unknown[]} words */
async function annSays(...words) {
  for (const word of words) await ann.group.send(word, { noEcho: true })
  say('ann', `said ${words.join(', ')}: acknowledged`)
}

heading('1. Two friends at a hub')
const ann = new Friend('ann', () => urlFor('ann', server.port))
const bob = new Friend('bob', () => urlFor('bob', link.port))
await until(hub.memberships$, () => hub.connections.filter(({ groups }) => groups.includes(GROUP)).length === 2)
const session = await sessionOf(bob)
await annSays(1, 2)
check('bob hears it', await hears(bob, [1, 2]), true)

heading('2. The cable of bob is cut; both go on talking')
link.cut()
say('link', 'cut')
await until(bob.client.status$, ({ state }) => state === 'recovering')
const answer = firstValueFrom(bob.group.send('still here', { noEcho: true }))
await annSays(3, 4, 5)

heading('3. The cable is whole again')
link.restore()
say('link', 'restored')
await answer
say('bob', 'said "still here": acknowledged')
check('bob has his session back', await sessionOf(bob), session)
check('he received everything once and in order', await hears(bob, [1, 2, 3, 4, 5]), true)
check('his message while offline arrived once', await hears(ann, ['still here']), true)
check('he was notified of no gap', bob.gaps, [])

heading(`4. The cable is cut for longer than the ${RETENTION} ms that the hub waits`)
const expired = firstValueFrom(hub.connections$.pipe(filter(({ type }) => type === 'disconnected')))
link.cut()
say('link', 'cut')
const end = await expired
say('hub', `has ended the session of bob: ${end.type === 'disconnected' ? end.reason : ''}`)
await annSays(6, 7)
link.restore()
say('link', 'restored')
await until(bob.group.gaps$, () => bob.gaps.length === 1)
await annSays(8)
check('bob has another session', (await sessionOf(bob)) !== session, true)
check('only the messages in between are lost', await hears(bob, [1, 2, 3, 4, 5, 8]), true)
check('the loss was announced, once', bob.gaps.length, 1)

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
check('bob was sent the entry there was', [first.op, first.version], ['set', String(version)])
await bob.client.sendEvent('key:set', { key: KEY, value: 22 })
say('bob', 'turns the set point to 22: acknowledged')
await until(entries$, entry => entry.op === 'set' && entry.value === 22)
check('the panel sees it', await until(setPoint.value$, value => value === 22), 22)
const refusal = await ann.client.sendEvent('key:set', { key: KEY, value: 99 }).then(
  () => 'done',
  error => error.hubError?.name,
)
say('ann', `tries to turn it to 99: ${refusal}`)
check('ann may not', refusal, 'Forbidden')

keys.close()
for (const { client } of [ann, bob]) await client.close()
for (const closing of [plant, panel, link, server, store]) await closing.close()
heading('Done: everything it claimed was checked.')
