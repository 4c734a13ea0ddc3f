// A store in a separate process. It may crash, and its memory and CPU time are measured separately.

import { type ServePubSubOptions, servePubSub } from '../../../../src/pubsub/hub/index.js'
import { ConsoleServer } from '../../../../src/server/console/console-server.js'
import { firstOf, serve, Tokens } from '../../../../src/server/index.js'
import { backwards } from '../../../support/backwards.js'
import { peakMemory } from './peak-memory.js'
import { AUDIENCE } from './policies.js'
import type { Memory, StoreAddresses } from './store-child.js'
import { workSoFar } from './work.js'

const { console: withConsole = false, hub: withHub = false, jwks, ...options } = JSON.parse(process.argv[2] ?? '{}')
/** The offset of the wall clock, in ms. */
let clockOffsetMs = 0
const { now } = Date
Date.now = () => now() + clockOffsetMs

// A policy requires authentication.
const tokens = jwks === undefined ? [] : [new Tokens({ jwks, audiences: [AUDIENCE] }).method]
const security = options.policy === undefined ? {} : { authenticate: firstOf([...tokens, backwards()]) }
const store = await serve({ port: 0, wsPort: 0, ...security, ...options })
const page = withConsole
  ? await ConsoleServer.start(store, { host: '127.0.0.1', port: 0, seed: undefined, version: '' })
  : undefined
const GROUPS = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']
const { key, maxWaitingBytes = 32 * 1024 * 1024 } = Object(withHub)
const authenticate: ServePubSubOptions['authenticate'] = ({ query }) =>
  query.has('slow')
    ? new Promise(() => undefined)
    : { userId: query.get('user') ?? '', roles: query.get('may') === 'all' ? GROUPS : [] }
const hub = withHub
  ? await servePubSub({
      port: 0,
      maxWaitingBytes,
      publicUrl: 'ws://hub.example',
      authenticate: key === undefined ? authenticate : { key },
    })
  : undefined

/** Collects garbage twice, because memory released by finalizers is freed only by the second run. */
function memory(): Memory {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss, peak: peakMemory() }
}

const ANSWERS = { memory, work: workSoFar, stats: () => store.stats, hub: () => hub?.stats }
process.on('message', (question: keyof typeof ANSWERS | number) => {
  if (typeof question === 'number') clockOffsetMs += question
  process.send?.(ANSWERS[typeof question === 'number' ? 'stats' : question]())
})
process.on('disconnect', () => process.exit())
process.send?.({
  url: store.url,
  wsUrl: store.wsUrl,
  console: page?.link ?? '',
  hub: hub === undefined ? '' : `ws://127.0.0.1:${hub.port}`,
} satisfies StoreAddresses)
