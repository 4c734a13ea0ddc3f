// This process runs a node of a store. It reports the state of its log and its content over the channel to its parent.

import { createHash } from 'node:crypto'
import { jetStreamLog } from 'rx-statestore/jetstream'
import { serve } from 'rx-statestore/server'
import { wholeLog } from './whole-log.js'

/**
 * The number of messages between snapshots. It is so low that a run contains snapshots and nodes that start from a
 * snapshot. The default is 250,000.
 */
const MESSAGES = 1_500

const [nodeId = '', port, wsPort, servers = '', name = ''] = process.argv.slice(2)

const send = (message: object) => process.send?.(message)
const fail = (error: unknown) => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  send({ failed: code, message: error instanceof Error ? error.message : String(error) })
  process.exitCode = 1
  process.disconnect?.()
}

process.on('disconnect', () => process.exit())
const whole = wholeLog(jetStreamLog({ servers, name, nodeId, stallTimeout: 4_000, connectTimeout: 15_000 }))
const log = { ...whole, settings: { ...whole.settings, snapshots: { messages: MESSAGES } } }
const store = await serve({
  port: Number(port),
  wsPort: Number(wsPort),
  log,
}).catch(error => {
  fail(error)
  return undefined
})
if (store) {
  store.storage$.subscribe(({ state, error }) => {
    if (state === 'broken') fail(error)
    else send({ storage: state })
  })
  store.faults$.subscribe(({ error }) => send({ fault: error instanceof Error ? error.stack : String(error) }))
  process.on('message', () => {
    const lines = Array.from(store.dump(), line => JSON.stringify(line)).sort()
    const hash = createHash('sha256').update(lines.join('\n')).digest('hex')
    const { position, lag, nodes } = store.cluster ?? {}
    send({ stats: { ...store.stats, keys: lines.length, hash, position, lag, nodes: nodes?.length } })
  })
  // The command line also handles SIGTERM in this way.
  process.once('SIGTERM', () => {
    store.close().then(() => process.exit(0), fail)
  })
  send({ ready: true })
}
