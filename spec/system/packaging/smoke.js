// The first steps of a user, under any runtime; prints the results.

import { connect, number, set } from 'rx-statestore'
import { connectPubSub } from 'rx-statestore/pubsub'
import { servePubSub } from 'rx-statestore/pubsub/server'
import { serve } from 'rx-statestore/server'
import { filter, firstValueFrom, from, lastValueFrom } from 'rxjs'

const server = await serve({ port: 0, wsPort: 0 })
for (const url of [server.url, server.wsUrl]) {
  const store = connect(url)
  const key = store.key('setPoint', number)
  const seen = firstValueFrom(key.value$.pipe(filter(value => value === 3)))
  await lastValueFrom(from([1, 2, 3]).pipe(set(key)))
  console.log('watched', await seen)
  await store.close()
  await server.load([], { replace: true })
}

const hubs = await servePubSub({ port: 0, authenticate: 'anonymous' })
const client = connectPubSub(hubs.hub('plant').url)
const heard = firstValueFrom(client.group('line-1').messages$)
await lastValueFrom(client.group('line-1').send('hello'))
console.log('heard', (await heard).data)

await client.close()
await hubs.close()
await server.close()
console.log('closed')
