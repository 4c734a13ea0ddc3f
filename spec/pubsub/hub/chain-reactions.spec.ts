import { describe, expect, it } from 'vitest'
import { DeferredTasks } from '../../../src/core/util/deferred-tasks.js'
import { MemoryBudget } from '../../../src/node/limits/memory-budget.js'
import { Backpressure } from '../../../src/pubsub/hub/backpressure.js'
import { HubDriver } from '../../../src/pubsub/hub/hub-driver.js'
import { HubSession } from '../../../src/pubsub/hub/hub-session.js'
import { SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { ManualClock } from '../../support/manual-clock.js'
import { VirtualLink } from '../support/virtual-link.js'

/** If the end of each session ended the next one within the same call, this number would overflow the stack. */
const MANY = 3_000
const codec = new SharedCodec(jsonHubCodec)
const messageOf = (data: unknown) => ({ type: 'serverMessage', payload: { dataType: 'json', data } }) as const

describe('an application that announces each session that ends', () => {
  const open = () => {
    const faults: unknown[] = []
    const options = { retention: 60_000, idleTimeout: 120_000, clock: new ManualClock() }
    const hub = new HubDriver({ ...options, onError: error => void faults.push(error) })
    const sendToAll = (data: unknown): number => hub.deliver(hub.engine.sessionIndex.all, messageOf(data))
    const ended: string[] = []
    hub.connections$.subscribe(({ type, connection }) => {
      if (type !== 'disconnected') return
      ended.push(connection.connectionId)
      sendToAll(`${connection.connectionId} has left`)
    })
    return { hub, faults, ended, sendToAll }
  }

  it('a message that exceeds the buffers of all sessions ends all of them', () => {
    const { hub, faults, ended, sendToAll } = open()
    for (let i = 0; i < MANY; i++) hub.connect(new VirtualLink(), codec, {})
    // Each session may leave 16 MiB unacknowledged. The messages are shared.
    for (let i = 0; i < 16; i++) sendToAll('x'.repeat(1024 * 1024 - 100))
    sendToAll('x'.repeat(10_000))
    expect([faults, ended.length, hub.engine.sessionIndex.all.size]).toEqual([[], MANY, 0])
  })

  it('a hub that closes within a notification reports all sessions that end', () => {
    const { hub, ended } = open()
    let isCompleted = false
    hub.connections$.subscribe({ complete: () => (isCompleted = true) })
    const first = hub.connect(new VirtualLink(), codec, {})
    for (let i = 0; i < 3; i++) hub.connect(new VirtualLink(), codec, {})
    hub.connections$.subscribe(({ type }) => {
      if (type === 'disconnected') hub.close()
    })
    hub.engine.end(first, 'hub', 1000, '')
    expect([ended.length, isCompleted]).toEqual([4, true])
  })
})

describe('senders that wait for each other in a chain', () => {
  it('the end of the last member releases all of them', () => {
    const tasks = new DeferredTasks(error => {
      throw error
    })
    const backpressure = new Backpressure(tasks)
    const large = codec.encodeOnce(messageOf('x'.repeat(9 * 1024 * 1024)))
    const sessions = Array.from({ length: MANY }, (_, i) => {
      const session = new HubSession(`${i}`, '', codec, {}, new MemoryBudget())
      session.open(new VirtualLink())
      session.deliver(large, 0)
      return session
    })
    let releasedCount = 0
    const end = (session: HubSession): void => {
      releasedCount++
      session.detach()
      backpressure.resumeIfCaughtUp(session, 0)
    }
    for (const [i, member] of sessions.entries()) {
      const sender = sessions[i + 1]
      if (sender === undefined) break
      const link = new VirtualLink()
      // A link that the client has closed ends when it is released.
      link.release = () => end(sender)
      backpressure.begin()
      backpressure.onLagging([member])
      backpressure.holdAfter(sender, link, 0)
    }
    for (const session of sessions.slice(0, 1)) end(session)
    expect(releasedCount).toBe(MANY)
  })
})
