// A store in a process of its own: it may die, and what it takes of memory and time is its own.

import { ConsoleServer } from '../../../src/console/console-server.js'
import { serve } from '../../../src/standalone.js'
import type { Memory, StoreAddresses } from './store-child.js'

const { console: withConsole = false, ...options } = JSON.parse(process.argv[2] ?? '{}')
/** How far this process's wall clock was moved, ms. */
let ahead = 0
const { now } = Date
Date.now = () => now() + ahead

const store = await serve({ port: 0, wsPort: 0, ...options })
const page = withConsole
  ? await ConsoleServer.start(store, { host: '127.0.0.1', port: 0, seed: undefined, version: '' })
  : undefined

/** Collects twice: what finalizers let go of is gone only then. */
function memory(): Memory {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss, peak: process.resourceUsage().maxRSS * 1024 }
}

process.on('message', question => {
  if (typeof question === 'number') ahead += question
  process.send?.(question === 'memory' ? memory() : store.stats)
})
process.on('disconnect', () => process.exit())
process.send?.({ url: store.url, wsUrl: store.wsUrl, console: page?.link ?? '' } satisfies StoreAddresses)
