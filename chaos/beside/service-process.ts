// This process runs a store attached to another broker, and can be killed. It writes the same journal as a store with
// the built-in broker.

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
  // The store has not received a request yet.
  if (state === 'serving' && isNew) journal.found(store)
  // The previous storage is closed, and is reopened for the next active period.
  if (state === 'serving' || state === 'standby') isNew = state === 'standby'
  if (state === 'closed' && 'cause' in rest && rest.cause !== undefined) throw rest.cause
})
journal.follow(store)

process.on('message', () => process.send?.({ stats: { ...store.stats, connections: 0, watched: [] } }))
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
