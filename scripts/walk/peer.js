// The other side of what is walked, in a process of its own, so that its functions are not counted.

import { once } from 'node:events'
import { connect, number } from 'rx-statestore'
import { connectPubSub } from 'rx-statestore/pubsub'
import { serve } from 'rx-statestore/server'
import { firstValueFrom } from 'rxjs'
import { within } from './deadline.js'

/** Each waits for `go` and does one thing; the answer says that it is done. */
const ROLES = {
  /** A store; writes a key when told to. */
  store: async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    const client = connect(store.url)
    let value = 0
    return { ready: store.url, go: async () => void (await client.key('walk', number).set(++value)) }
  },
  /** A client of the store at an address; writes a key when told to. */
  client: async (/** @type {string} */ url) => {
    const key = connect(url).key('walk', number)
    let value = 0
    return { ready: '', go: async () => void (await key.set(++value)) }
  },
  /** Two members of a group; one sends, the other receives. */
  members: async (/** @type {string} */ urls) => {
    const [one, other] = urls.split(' ').map(url => connectPubSub(url))
    const receiver = other?.group('walk')
    const sender = one?.group('walk')
    if (!receiver || !sender) throw new Error('expected two addresses')
    const received = receiver.messages$
    received.subscribe()
    /** Sends, and waits for the receiver. @param {typeof sender} from @param {string} data @param {string} what */
    const send = async (from, data, what) => {
      const message = firstValueFrom(received)
      await within(from.send(data), `the hub to answer "${data}"`)
      await within(message, what)
    }
    // Its own message comes back only once it has joined, for the client sends the request to join first.
    await send(receiver, 'joined', 'the receiver to join the group')
    return { ready: '', go: async () => send(sender, 'hello', 'the receiver to get "hello"') }
  },
}

// A walk that fails leaves no process behind.
process.on('disconnect', () => process.exit())
const [role = '', address = ''] = process.argv.slice(2)
const { ready, go } = await within(
  ROLES[/** @type {keyof typeof ROLES} */ (role)](address),
  `the role ${role} to begin`,
)
process.send?.({ ready })
for (;;) {
  await once(process, 'message')
  await within(go(), `the role ${role} to do what it was told`)
  process.send?.({ done: true })
}
