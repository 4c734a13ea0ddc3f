// The other side of what is walked, in a process of its own, so that its functions are not counted.

import { once } from 'node:events'
import { connect, number } from 'rx-statestore'
import { connectPubSub } from 'rx-statestore/pubsub'
import { serve } from 'rx-statestore/server'
import { firstValueFrom } from 'rxjs'

/** Each waits for `go` and does one thing; the answer says that it is done. */
const ROLES = {
  /** A store; writes a key when told to. */
  store: async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    const client = connect(store.url)
    let value = 0
    return { ready: store.url, go: async () => client.key('walk', number).set(++value) }
  },
  /** A client of the store at an address; writes a key when told to. */
  client: async (/** @type {string} */ url) => {
    const key = connect(url).key('walk', number)
    let value = 0
    return { ready: '', go: async () => key.set(++value) }
  },
  /** Two members of a group; one sends, the other receives. */
  members: async (/** @type {string} */ urls) => {
    const [one, other] = urls.split(' ').map(url => connectPubSub(url))
    const received = other?.group('walk').messages$
    const sender = one?.group('walk')
    if (!received || !sender) throw new Error('expected two addresses')
    received.subscribe()
    await new Promise(resolve => setTimeout(resolve, 200))
    return {
      ready: '',
      go: async () => {
        const message = firstValueFrom(received)
        await sender.send('hello')
        await message
      },
    }
  },
}

const [role = '', address = ''] = process.argv.slice(2)
const { ready, go } = await ROLES[/** @type {keyof typeof ROLES} */ (role)](address)
process.send?.({ ready })
for (;;) {
  await once(process, 'message')
  await go()
  process.send?.({ done: true })
}
