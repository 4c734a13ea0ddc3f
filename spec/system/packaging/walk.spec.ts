import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { within } from '../../../scripts/walk/deadline.js'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { listen } from '../../support/listen.js'

/** Opens a network to a port that lets nothing through for `delayMs` ms. */
async function slowNetwork(port: number, delayMs: number): Promise<number> {
  const server = createServer(async near => {
    near.on('error', () => undefined)
    await pause(delayMs)
    const far = connect({ host: '127.0.0.1', port })
    far.on('error', () => undefined)
    near.pipe(far).pipe(near)
  })
  return listen(server)
}

describe('npm run walk', () => {
  it('the walk sends the first message when the receiver has joined, after any delay', async () => {
    const server = await servePubSub({ port: 0, authenticate: { key: 'a key of at least 32 characters.' } })
    onTestFinished(async () => server.close())
    const hub = server.hub('walk')
    const roles = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']
    const [sender = '', receiver = ''] = await Promise.all(
      ['ann', 'bob'].map(async userId => (await hub.token({ userId, roles })).url),
    )
    const slow = new URL(receiver)
    slow.port = String(await slowNetwork(Number(slow.port), 600))
    const events: string[] = []
    hub.memberships$.subscribe(({ type, connection }) => events.push(`${connection.userId} ${type}`))
    const peer = fork(new URL('../../../scripts/walk/peer.js', import.meta.url).pathname, [
      'members',
      `${sender} ${slow.href}`,
    ])
    onTestFinished(() => void peer.kill())
    await once(peer, 'message')
    events.push('ready')
    peer.send('go')
    const [answer] = await once(peer, 'message')
    expect(answer).toEqual({ done: true })
    expect(events).toEqual(['bob joined', 'ready'])
  })

  it('the walk fails when a step takes too long', async () => {
    const never = new Promise<void>(() => undefined)
    await expect(within(never, 'the receiver to join the group', 10)).rejects.toThrow(
      'waited 10 ms for the receiver to join the group',
    )
    expect(await within(Promise.resolve('joined'), 'the receiver to join the group')).toBe('joined')
  })
})
