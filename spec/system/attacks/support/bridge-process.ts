// A hub with a bridge to a store in a separate process. The store starts and stops.

import { connect } from '../../../../src/client/index.js'
import { bridge } from '../../../../src/pubsub/bridge/index.js'
import { servePubSub } from '../../../../src/pubsub/hub/index.js'
import { serve } from '../../../../src/server/index.js'
import { workSoFar } from './work.js'

const server = await servePubSub({
  port: 0,
  authenticate: ({ query }) => ({ userId: query.get('user') ?? undefined }),
})
const hub = server.hub('panel')
let store = await serve({ port: 0, wsPort: 0 })
const port = Number(new URL(store.url).port)
const client = connect(store.url, { timeout: 30_000, reconnect: { initial: 20, max: 200 } })
bridge(client, hub, { read: () => true, write: () => true })

/** The peak of all measurements so far, in bytes. */
let peak = 0
const measurePeak = (): void => {
  const { heapUsed, external } = process.memoryUsage()
  peak = Math.max(peak, heapUsed + external)
}
setInterval(measurePeak, 100)

async function runCommand(command: unknown): Promise<void> {
  if (command === 'down') await store.close()
  if (command === 'up') store = await serve({ port, wsPort: 0 })
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ held: heapUsed + external, peak, work: workSoFar() })
  peak = 0
}

process.on('message', command => void runCommand(command))
process.on('disconnect', () => process.exit())
process.send?.({ url: hub.url })
