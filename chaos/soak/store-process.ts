// This process runs a store, or a node of a store, and reports its own resources over the channel to its parent.

import { jetStreamLog } from 'rx-statestore/jetstream'
import { serve } from 'rx-statestore/server'
import { wholeLog } from '../cluster/whole-log.js'
import { sampleProcess } from './process-sample.js'

export interface StoreProcessOptions {
  readonly port: number
  readonly wsPort: number
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly data?: string
  readonly node?: { readonly servers: readonly string[]; readonly name: string; readonly nodeId: string }
}

/** The number of messages between snapshots, so low that a run contains many snapshots. The default is 250,000. */
const MESSAGES = 5_000

const options: StoreProcessOptions = JSON.parse(process.argv[2] ?? '')
const { node, ...others } = options

function logOf(settings: NonNullable<StoreProcessOptions['node']>) {
  const log = wholeLog(jetStreamLog(settings))
  return { ...log, settings: { ...log.settings, snapshots: { messages: MESSAGES } } }
}

const store = await serve({ ...others, ...(node && { log: logOf(node) }) })
process.on('message', () => process.send?.({ stats: { ...sampleProcess(), connections: store.stats.connections } }))
process.once('SIGTERM', () => {
  store.close().then(() => process.exit(0))
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
