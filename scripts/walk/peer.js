// The peer of a recorded operation. It runs in a separate process, so that its functions are not counted.

import { once } from 'node:events'
import { connect, number } from 'rx-statestore'
import { connectPubSub } from 'rx-statestore/pubsub'
import { serve } from 'rx-statestore/server'
import { firstValueFrom } from 'rxjs'
import { within } from './deadline.js'

/** The roles of the peer. Each waits for `go`, does one thing and then answers. */
const ROLES = {
  /** A store that writes a key on `go`. */
  store: async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    const client = connect(store.url)
    let value = 0
    return { ready: store.url, go: async () => void (await client.key('walk', number).set(++value)) }
  },
  /** A client of the store at an address, which writes a key on `go`. */
  client: async (/** @type {string} */ url) => {
    const key = connect(url).key('walk', number)
    let value = 0
    return { ready: '', go: async () => void (await key.set(++value)) }
  },
  /** Two members of a group, of which one sends and the other receives. */
  members: async (/** @type {string} */ urls) => {
    const [one, other] = urls.split(' ').map(url => connectPubSub(url))
    const receiver = other?.group('walk')
    const sender = one?.group('walk')
    if (!receiver || !sender) throw new Error('expected two addresses')
    const received = receiver.messages$
    received.subscribe()
    /**
     * Sends a message and waits until the receiver has it.
     *
     * @param {typeof sender} from @param {string} data @param {string} what
     */
    const send = async (from, data, what) => {
      const message = firstValueFrom(received)
      await within(from.send(data), `the hub to answer "${data}"`)
      await within(message, what)
    }
    // The receiver gets its own message only after it has joined, because the client sends the request to join first.
    await send(receiver, 'joined', 'the receiver to join the group')
    return { ready: '', go: async () => send(sender, 'hello', 'the receiver to get "hello"') }
  },
}

// The peer exits with its parent, so that a failed walk leaves no process behind.
process.on('disconnect', () => process.exit())
const [role = '', address = ''] = process.argv.slice(2)
const { ready, go } = await within(
  ROLES[/** @type {keyof typeof ROLES} */ (role)](address),
  `the role ${role} to begin`,
)
process.send?.({ ready })
for (;;) {
  await once(process, 'message')
  await within(go(), `the role ${role} to complete its action`)
  process.send?.({ done: true })
}
