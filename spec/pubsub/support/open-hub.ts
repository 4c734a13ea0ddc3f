import { onTestFinished } from 'vitest'
import { type Hub, type PubSubServer, type ServePubSubOptions, servePubSub } from '../../../src/pubsub/hub/index.js'
import { ManualClock } from '../../support/manual-clock.js'

/** A hub's sessions as text, such as `connected ann` and `disconnected ann: expired`. */
export type SessionLog = string[]

/**
 * Starts a server on a free port, with a manual clock and a hub `chat`. The server is closed at the end of the test.
 */
export async function openHub(options: Partial<ServePubSubOptions> = {}): Promise<{
  server: PubSubServer
  hub: Hub
  clock: ManualClock
  sessionLog: SessionLog
}> {
  const clock = new ManualClock()
  const server = await servePubSub({ port: 0, clock, authenticate: 'anonymous', ...options })
  onTestFinished(async () => {
    const closed = server.close()
    clock.advance(10_000)
    await closed
  })
  const hub = server.hub('chat')
  const sessionLog: SessionLog = []
  hub.connections$.subscribe(event => {
    const who = event.connection.userId ?? 'anonymous'
    sessionLog.push(event.type === 'connected' ? `connected ${who}` : `disconnected ${who}: ${event.reason}`)
  })
  return { server, hub, clock, sessionLog }
}
