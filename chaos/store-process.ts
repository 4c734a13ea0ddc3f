// The store in a process of its own, which can be killed. Whatever it answers to a write it first puts into a journal,
// by a system call that has returned: what was applied is known even of a store that was killed right after. One that
// keeps its keys begins with those it has found.

import { serve } from 'rx-statestore/server'
import { Journal } from './journal.js'

const [port, wsPort, data = '', path = ''] = process.argv.slice(2)
const journal = new Journal(path)
const store = await serve({ port: Number(port), wsPort: Number(wsPort), ...(data !== '' && { data }) })
// Nobody has been let in yet.
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
