// The store as a service beside a broker of others, in a process of its own that can be killed. Its journal is that of a
// store with a broker of its own.

import { attach } from 'rx-statestore/server'
import { Journal } from '../journal.js'

const [url = '', data = '', path = ''] = process.argv.slice(2)
const journal = new Journal(path)
const store = await attach(url, {
  data,
  keepAlive: 2_000,
  connectTimeout: 2_000,
  reconnect: { initial: 20, max: 400 },
})
let isNew = true
store.state$.subscribe(({ state, ...rest }) => {
  // It has taken no request yet.
  if (state === 'serving' && isNew) journal.found(store)
  // What it served is closed, and opened again when it is needed.
  if (state === 'serving' || state === 'standby') isNew = state === 'standby'
  if (state === 'closed' && 'cause' in rest && rest.cause !== undefined) throw rest.cause
})
journal.follow(store)

process.on('message', () => process.send?.({ stats: { ...store.stats, connections: 0, watched: [] } }))
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
