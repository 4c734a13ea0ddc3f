import { afterEach, describe, expect, it, vi } from 'vitest'
import { some } from '../../../support/effort.js'
import { scheduleOf } from './schedule.js'
import { simulate } from './simulate.js'

const switchedOff = vi.hoisted((): { safeguard: string | undefined } => ({ safeguard: undefined }))
const off = vi.hoisted(
  () =>
    (safeguard: string): boolean =>
      switchedOff.safeguard === safeguard,
)

vi.mock('../../../../src/server/broker/session/outbox.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/session/outbox.js')>()
  class Outbox extends original.Outbox {
    override resume(sender: Parameters<InstanceType<typeof original.Outbox>['resume']>[0], maximum: number): void {
      const { publish } = sender
      const changed = {
        pubrel: (packetId: number) => off('PUBREL is said again') || sender.pubrel(packetId),
        publish: (...[delivery, packetId, dup]: Parameters<typeof publish>): boolean => {
          if (dup && off('what is unacknowledged is sent again')) return true
          if (dup && off('what is sent again says so')) return sender.publish(delivery, packetId, false)
          return sender.publish(delivery, packetId, dup)
        },
      }
      super.resume(changed, off('no more is sent than the receive maximum') ? 65_535 : maximum)
    }

    override pubrec(packetId: number, received: boolean): boolean {
      return off('PUBREC is heeded') || super.pubrec(packetId, received)
    }

    override puback(packetId: number): boolean {
      return super.puback(off('an acknowledgement is for the packet it names') ? 1 : packetId)
    }

    override clear(): void {
      if (!off('what a session held is given back')) super.clear()
    }
  }
  return { ...original, Outbox }
})

vi.mock('../../../../src/server/broker/session/session.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/session/session.js')>()
  type Delivery = Parameters<InstanceType<typeof original.Session>['deliver']>[0]
  class Session extends original.Session {
    override isUnreleased(packetId: number): boolean {
      return !off('what came with QoS 2 is remembered') && super.isUnreleased(packetId)
    }

    override released(packetId: number): boolean {
      return off('a packet id is free again after PUBREL') || super.released(packetId)
    }

    override deliver(delivery: Delivery): void {
      if (off('a message waits for whoever is away') && !this.connected) return
      super.deliver(off('a message expires') ? { ...delivery, expiresAt: undefined } : delivery)
    }
  }
  return { ...original, Session }
})

vi.mock('../../../../src/server/broker/routing/router.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/routing/router.js')>()
  type Route = Parameters<InstanceType<typeof original.Router>['route']>
  class Router extends original.Router {
    override route(...[message, from]: Route): number {
      return super.route(message, off('nobody gets what is its own if it does not want to') ? undefined : from)
    }

    override remove(subscription: Parameters<InstanceType<typeof original.Router>['remove']>[0]): void {
      if (!off('a subscription ends')) super.remove(subscription)
    }
  }
  return { ...original, Router }
})

vi.mock('../../../../src/server/broker/routing/shared-group.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/routing/shared-group.js')>()
  class SharedGroup extends original.SharedGroup {
    override deliver(message: Parameters<InstanceType<typeof original.SharedGroup>['deliver']>[0]): boolean {
      return super.deliver(message) && (!off('one of a group gets a message') || super.deliver(message))
    }
  }
  return { ...original, SharedGroup }
})

vi.mock('../../../../src/server/broker/routing/retained.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/routing/retained.js')>()
  class Retained extends original.Retained {
    override delete(topic: string): void {
      if (!off('what is retained is deleted')) super.delete(topic)
    }
  }
  return { ...original, Retained }
})

vi.mock('../../../../src/server/broker/session/outbound.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/session/outbound.js')>()
  class Outbound extends original.Outbound {
    constructor(...[link, host, peer, client]: ConstructorParameters<typeof original.Outbound>) {
      const maximumPacketSize = off('nothing too large is sent') ? undefined : client.maximumPacketSize
      super(link, host, peer, { ...client, maximumPacketSize })
    }
  }
  return { ...original, Outbound }
})

vi.mock('../../../../src/server/broker/session/keep-alive.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/session/keep-alive.js')>()
  class KeepAlive extends original.KeepAlive {
    override stop(): void {
      if (!off('no timer is left behind')) super.stop()
    }

    override start(limit: number): void {
      super.start(off('who is silent is dismissed') ? 0 : limit)
    }
  }
  return { ...original, KeepAlive }
})

vi.mock('../../../../src/server/broker/core/broker-core.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/core/broker-core.js')>()
  type Core = InstanceType<typeof original.BrokerCore>
  class BrokerCore extends original.BrokerCore {
    override admit(...[connection, connect, clientId, who]: Parameters<Core['admit']>): ReturnType<Core['admit']> {
      const cleanStart = connect.cleanStart && !off('a clean start is one')
      const sessionExpiry = off('a session is kept') ? 0 : connect.sessionExpiry
      return super.admit(connection, { ...connect, cleanStart, sessionExpiry }, clientId, who)
    }

    override leave(...[connection, session, will]: Parameters<Core['leave']>): void {
      if (off('a session expires') && session.expiry > 0) session.expiry = 86_400
      if (off('a will is published')) super.leave(connection, session, undefined)
      else super.leave(connection, session, off('a will waits for its time') && will ? { ...will, delay: 0 } : will)
    }
  }
  return { ...original, BrokerCore }
})

vi.mock('../../../../src/server/broker/session/connection.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../../src/server/broker/session/connection.js')>()
  class Connection extends original.Connection {
    override goodbye(withWill: boolean): void {
      super.goodbye(withWill || off('no will is published after a goodbye'))
    }
  }
  return { ...original, Connection }
})

const SAFEGUARDS = [
  'PUBREL is said again',
  'what is unacknowledged is sent again',
  'what is sent again says so',
  'no more is sent than the receive maximum',
  'PUBREC is heeded',
  'an acknowledgement is for the packet it names',
  'what a session held is given back',
  'what came with QoS 2 is remembered',
  'a packet id is free again after PUBREL',
  'a message waits for whoever is away',
  'a message expires',
  'nobody gets what is its own if it does not want to',
  'a subscription ends',
  'one of a group gets a message',
  'what is retained is deleted',
  'nothing too large is sent',
  'no timer is left behind',
  'who is silent is dismissed',
  'a clean start is one',
  'a session is kept',
  'a session expires',
  'a will is published',
  'a will waits for its time',
  'no will is published after a goodbye',
] as const

const MOST_SCHEDULES = 2_000

/** How many schedules it takes until somebody objects, and the objection. */
function caughtAfter(): { schedules: number; objection: string } | undefined {
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++) {
    const [objection] = simulate(scheduleOf(seed)).violations
    if (objection !== undefined) return { schedules: seed, objection }
  }
  return undefined
}

describe('somebody objects when a safeguard of the broker is switched off', () => {
  afterEach(() => {
    switchedOff.safeguard = undefined
  })

  it.each(some(SAFEGUARDS, 6))('%s', { timeout: 120_000 }, safeguard => {
    switchedOff.safeguard = safeguard
    const caught = caughtAfter()
    console.info(`without "${safeguard}": caught after ${caught?.schedules} schedules: ${caught?.objection}`)
    expect(caught).toBeDefined()
  })

  it('and nobody when all are on', { timeout: 120_000 }, () => {
    for (let seed = 1; seed <= 100; seed++) expect(simulate(scheduleOf(seed)).violations).toEqual([])
  })
})
