// The measured server: broker, store, hub and console in one process without other work. Its parent sends questions.

import { servePubSub } from '../../src/pubsub/hub/index.js'
import { serve } from '../../src/server/index.js'
import { Meter, referenceMs } from './meter.js'
import type { Answers, Question, ServerAddresses, ServerSettings } from './protocol.js'

const MAX_FAULTS = 100

const settings: ServerSettings = JSON.parse(process.argv[2] ?? '{}')
const faults: string[] = []
const addFault = (error: unknown): void => {
  if (faults.length < MAX_FAULTS) faults.push(String(error))
}
process.on('warning', addFault)

const store = await serve({
  port: 0,
  wsPort: 0,
  authenticate: ({ username }) =>
    username === undefined
      ? { refused: 'credentials', reason: 'no user name' }
      : { principal: { username, attributes: undefined } },
  warn: () => undefined,
  ...settings.store,
})
store.faults$.subscribe(({ error }) => addFault(error))
const hub = settings.hasHub
  ? await servePubSub({
      port: 0,
      authenticate: ({ query }) => ({
        userId: query.get('user') ?? '',
        roles: ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup'],
      }),
      maxFrameRatePerUser: 10_000_000,
      maxByteRatePerUser: 2 ** 40,
      ...settings.hub,
    })
  : undefined

const meter = new Meter()
const answers: { readonly [Q in Question]: () => Answers[Q] | Promise<Answers[Q]> } = {
  begin: () => {
    meter.begin()
    return undefined
  },
  end: () => meter.end(),
  reference: referenceMs,
  faults: () => faults.splice(0),
}
process.on('message', async (question: Question) => process.send?.({ answer: await answers[question]() }))
process.on('disconnect', () => process.exit())
process.send?.({
  answer: { mqtt: store.url, ws: store.wsUrl, hub: hub ? `ws://127.0.0.1:${hub.port}` : '' } satisfies ServerAddresses,
})
