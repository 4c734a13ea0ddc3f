// A hub in a separate process. It may crash, and its memory and event loop are isolated.

import { servePubSub } from '../../../../src/pubsub/hub/index.js'
import { workSoFar } from './work.js'

const MAX_AUDIT_LINES = 1_000
const options = JSON.parse(process.argv[2] ?? '{}')
const ROLES = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']

const server = await servePubSub({
  port: 0,
  publicUrl: 'ws://hub.example',
  authenticate: ({ query }) => ({
    ...(query.has('user') && { userId: query.get('user') ?? '' }),
    roles: query.get('may') === 'all' ? ROLES : [],
  }),
  ...options,
})
const audit: string[] = []
server.audit$.subscribe(({ event, outcome, reason }) => {
  audit.push([event, outcome, reason].join(' ').trim())
  if (audit.length > MAX_AUDIT_LINES) audit.shift()
})
// The application receives events but never answers them.
server.hub('chat').events$.subscribe(event => {
  if (event.event === 'accept') event.accept()
})

function heldBytes(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const ANSWERS = { memory: heldBytes, audit: () => audit, stats: () => server.stats, work: workSoFar }
process.on('message', (question: keyof typeof ANSWERS) => process.send?.(ANSWERS[question]()))
process.on('disconnect', () => process.exit())
process.send?.(server.port)
