// The store in a process of its own, which can be killed. Whatever it answers to a write it first puts into a journal,
// by a system call that has returned: what was applied is known even of a store that was killed right after. One that
// keeps its keys begins with those it has found.

import { openSync, writeSync } from 'node:fs'
import { serve } from 'rx-statestore/server'
import { now } from './now.js'
import { nameOf } from './values.js'

const [port, wsPort, path = '', data = ''] = process.argv.slice(2)
const journal = openSync(path, 'a')
/** @param {unknown[]} record */
const note = record => writeSync(journal, `${JSON.stringify(record)}\n`)
const store = await serve({ port: Number(port), wsPort: Number(wsPort), ...(data !== '' && { data }) })
// Nobody has been let in yet.
if (data !== '')
  note([
    'kept',
    now(),
    Array.from(store.dump(), ({ key = '', value = '', expiresAt }) => [key, nameOf(value), expiresAt !== undefined]),
  ])

store.requests$.subscribe(({ clientId, payload, outcome }) => {
  // RESP3 with keys and values that have no line breaks: every other line is a word.
  const [verb, key, value, ...rest] = Buffer.from(payload)
    .toString()
    .split('\r\n')
    .filter((_, line) => line > 0 && line % 2 === 0)
  if (verb !== 'SET' && verb !== 'DEL' && verb !== 'VDEL') return
  const condition = rest.find(word => word === 'NX' || word === 'NEX') ?? ''
  const px = rest.includes('PX')
  note(['answer', now(), clientId, verb, key, value === undefined ? '' : nameOf(value), condition, px, outcome])
})

process.on('message', () => {
  const watched = Array.from(store.clients, ({ clientId }) => [
    clientId,
    Array.from(store.watchedBy(clientId), key => Buffer.from(key).toString()),
  ])
  process.send?.({ stats: { ...store.stats, watched } })
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
