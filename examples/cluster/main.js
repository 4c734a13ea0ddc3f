// Connects a panel and a thermostat to different nodes and kills the panel's node: no acknowledged write is lost.

import { connect, number } from 'rx-statestore'
import { NO_NATS_SERVER, natsServer } from '../../scripts/nats-server.js'
import { startThermostat } from '../demo/thermostat.js'
import { check, heading, say } from '../transcript.js'
import { until } from '../until.js'
import { startNats } from './nats.js'
import { nodeOf, startNode } from './nodes.js'

const command = natsServer()
if (command === undefined) {
  console.error(`The demo of a cluster ${NO_NATS_SERVER}`)
  process.exit(1)
}

heading('1. Three NATS servers, three nodes')
const nats = await startNats(command)
say('nats', `three servers, ${nats.servers}`)
const nodes = await Promise.all(['n1', 'n2', 'n3'].map(id => startNode(nats.servers, id)))
for (const { id, url } of nodes) say('nodes', `${id} listens on ${url}`)

heading('2. A panel and a thermostat at different nodes')
const panel = connect(
  nodes.map(({ url }) => url),
  { clientId: 'panel', reconnect: { initial: 50, max: 200 } },
)
const before = nodeOf(nodes, await until(panel.status$, ({ state }) => state === 'connected'))
if (before === undefined) throw new Error('the panel is connected to none of the nodes')
say('panel', `is connected to ${before.id}`)
panel.status$.subscribe(status => {
  if (status.state === 'reconnecting' && status.attempt === 1) say('panel', `lost its node: ${status.cause.message}`)
})
const others = nodes.filter(node => node !== before)
const thermostat = startThermostat(others.map(({ url }) => url))
const setPoint = panel.key('thermostat1/setPoint', number)
const temperature = panel.key('thermostat1/temperature', number)
await until(thermostat.setPoint.freshness$, ({ state }) => state === 'live')
const { version } = await setPoint.set(21)
say('panel', 'turns the set point to 21', { version })
const warm = await until(temperature.entries$, ({ value }) => value !== undefined && value > 20)
say('panel', `sees a temperature of ${warm.value}°`, warm)

heading(`3. kill -9 of ${before.id}, while the panel writes continuously`)
/** @type {Set<number>} */
const acknowledged = new Set()
let [written, unknown, isStopped] = [0, 0, false]
/** @type {(sentAt: number) => void} */
let onAcknowledged = () => undefined
const writing = (async () => {
  while (!isStopped) {
    const [index, sentAt] = [written++, performance.now()]
    try {
      await panel.key(`turn/${index}`, number).set(index, { timeout: 1_000 })
      acknowledged.add(index)
      onAcknowledged(sentAt)
    } catch {
      unknown++
    }
  }
})()
await /** @type {Promise<void>} */ (
  new Promise(resolve => {
    onAcknowledged = () => acknowledged.size >= 50 && resolve()
  })
)
const killedAt = performance.now()
const exited = before.end('SIGKILL')
await /** @type {Promise<void>} */ (
  new Promise(resolve => {
    onAcknowledged = sentAt => sentAt > killedAt && resolve()
  })
)
// The dying node may still acknowledge a write that was sent earlier.
await exited
const after = nodeOf(nodes, await until(panel.status$, ({ state }) => state === 'connected'))
const takeover = performance.now() - killedAt
say('panel', `writes again, to ${after?.id}, ${Math.round(takeover)} ms after the kill`)
const last = await setPoint.set(24)
say('panel', 'turns the set point to 24', last)
const hot = await until(temperature.entries$, ({ value }) => value !== undefined && value > 23)
say('panel', `sees ${hot.value}° through the same watch`, hot)
isStopped = true
await writing
check('the panel is connected to another node', after !== undefined && after !== before, true)
check('the takeover took less than two seconds', takeover < 2_000, true)
check('the thermostat, at another node, was not affected', thermostat.followed, [21, 24])

heading(`4. ${before.id} restarts without its data`)
const restarted = await startNode(nats.servers, before.id, new URL(before.url).port)
say('nodes', `${restarted.id} listens again, and has caught up`)
const reader = connect(restarted.url, { clientId: 'reader' })
let present = 0
for (const index of acknowledged) if ((await reader.key(`turn/${index}`, number).get()).value === index) present++
say('nodes', `${written} writes: ${acknowledged.size} were acknowledged, ${unknown} have an unknown outcome`)
check('every acknowledged write is present', present, acknowledged.size)

await reader.close()
await thermostat.stop()
await panel.close()
await Promise.all([restarted, ...others].map(({ end }) => end('SIGTERM')))
await nats.stop()
heading('Done: every claim was checked.')
