// This process runs a store that can be killed. Before it responds to a write, it appends the write to a journal with a
// synchronous system call, so that all applied writes are known even after a kill. A durable store first records the
// keys that it has recovered.

import { serve } from 'rx-statestore/server'
import { Journal } from './journal.js'

const [port, wsPort, data = '', path = ''] = process.argv.slice(2)
const journal = new Journal(path)
const store = await serve({ port: Number(port), wsPort: Number(wsPort), ...(data !== '' && { data }) })
// At this point, no client can connect yet.
if (data !== '') journal.found(store)
journal.follow(store)

process.on('message', () => {
  const watched = Array.from(store.clients, ({ clientId }) => [
    clientId,
    Array.from(store.watchedBy(clientId), key => Buffer.from(key).toString()),
  ])
  process.send?.({ stats: { ...store.stats, watched } })
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
