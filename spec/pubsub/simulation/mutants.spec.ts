import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Action } from '../../../src/pubsub/client/events.js'
import type { HubLink } from '../../../src/pubsub/hub/hub-link.js'
import { some } from '../../support/effort.js'
import { scheduleOf } from './schedule.js'
import { simulate } from './simulate.js'
import { asksToLeave, newIdOnResend } from './tamper.js'
import type { Sabotage } from './world.js'

/** What is different from the shipped client and hub. */
interface Mutation extends Sabotage {
  readonly sequences?: 'takes all for new' | 'goes on counting in a new session'
  readonly client?: 'keeps gaps to itself' | 'does not join again' | 'does not send again'
  readonly recentIds?: 'forgets'
  readonly requests?: 'remembers what failed'
  readonly session?: 'repeats nothing'
  readonly link?: 'waits for a frame' | 'asks by pings alone' | 'borrows ids' | 'takes silence for life' | 'pings on'
}

const switchedOff = vi.hoisted((): { mutation: Mutation } => ({ mutation: {} }))

vi.mock('../../../src/pubsub/client/sequence-tracker.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/client/sequence-tracker.js')>()
  class SequenceTracker extends original.SequenceTracker {
    override record(...what: Parameters<InstanceType<typeof original.SequenceTracker>['record']>): boolean {
      return super.record(...what) || switchedOff.mutation.sequences === 'takes all for new'
    }

    override reset(): void {
      if (switchedOff.mutation.sequences === 'goes on counting in a new session') this.suspend()
      else super.reset()
    }
  }
  return { ...original, SequenceTracker }
})

vi.mock('../../../src/pubsub/client/client-link.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/client/client-link.js')>()
  class ClientLink extends original.ClientLink {
    constructor(...[settings, host]: ConstructorParameters<typeof original.ClientLink>) {
      const isRequest = (action: Action): boolean => action.type === 'transmit' && asksToLeave(action.data)
      super(settings, {
        ...host,
        act: action => {
          if (switchedOff.mutation.link !== 'asks by pings alone' || !isRequest(action)) host.act(action)
        },
        // One that the next message gets.
        nextId: () => host.nextId() + (switchedOff.mutation.link === 'borrows ids' ? 1n : 0n),
      })
    }

    override check(now: number): ReturnType<InstanceType<typeof original.ClientLink>['check']> {
      const found = super.check(now)
      if (found !== 'dead' || this.stage !== 'up' || switchedOff.mutation.link !== 'takes silence for life')
        return found
      this.hear(now)
      return undefined
    }

    override closed(code: number): void {
      if (switchedOff.mutation.link !== 'pings on') super.closed(code)
    }

    override trust(now: number): void {
      if (switchedOff.mutation.link !== 'waits for a frame') super.trust(now)
    }
  }
  return { ...original, ClientLink }
})

vi.mock('../../../src/pubsub/client/memberships.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/client/memberships.js')>()
  type Host = ConstructorParameters<typeof original.Memberships>
  class Memberships extends original.Memberships {
    constructor(sendQueue: Host[0], timeout: Host[1], act: Host[2]) {
      super(sendQueue, timeout, (action: Action) => {
        if (action.type !== 'gap' || switchedOff.mutation.client !== 'keeps gaps to itself') act(action)
      })
    }

    override sessionLost(since: number): void {
      if (switchedOff.mutation.client !== 'does not join again') super.sessionLost(since)
    }
  }
  return { ...original, Memberships }
})

vi.mock('../../../src/pubsub/client/send-queue.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/client/send-queue.js')>()
  class SendQueue extends original.SendQueue {
    constructor(...[settings, transmit]: ConstructorParameters<typeof original.SendQueue>) {
      super(settings, data => {
        if (!this.resuming || switchedOff.mutation.client !== 'does not send again') transmit(data)
      })
    }

    private resuming = false

    override resume(now: number): void {
      this.resuming = true
      super.resume(now)
      this.resuming = false
    }
  }
  return { ...original, SendQueue }
})

vi.mock('../../../src/pubsub/hub/recent-ids.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/hub/recent-ids.js')>()
  class RecentIds extends original.RecentIds {
    override has(id: bigint): boolean {
      return switchedOff.mutation.recentIds !== 'forgets' && super.has(id)
    }
  }
  return { ...original, RecentIds }
})

vi.mock('../../../src/pubsub/hub/requests.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/hub/requests.js')>()
  class Requests extends original.Requests {
    override take(...what: Parameters<InstanceType<typeof original.Requests>['take']>): boolean {
      const taken = super.take(...what)
      const [{ recent }, frame] = what
      const ackId = 'ackId' in frame ? frame.ackId : undefined
      if (switchedOff.mutation.requests && ackId !== undefined && !recent.has(ackId)) recent.add(ackId)
      return taken
    }
  }
  return { ...original, Requests }
})

vi.mock('../../../src/pubsub/hub/hub-session.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../../src/pubsub/hub/hub-session.js')>()
  class HubSession extends original.HubSession {
    #delivered = 0

    override deliver(...what: Parameters<InstanceType<typeof original.HubSession>['deliver']>): boolean {
      this.#delivered++
      return super.deliver(...what)
    }

    override resume(link: HubLink): void {
      // Whatever was written counts as received.
      const last = switchedOff.mutation.session === 'repeats nothing' ? this.#delivered : 0
      for (let id = 1; id <= last; id++) this.acknowledge(BigInt(id))
      super.resume(link)
    }
  }
  return { ...original, HubSession }
})

const MUTATIONS: Record<string, Mutation> = {
  'repeated messages taken for new ones': { sequences: 'takes all for new' },
  'numbers not reset in a new session': { sequences: 'goes on counting in a new session' },
  'gaps not told': { client: 'keeps gaps to itself' },
  'groups not joined again in a new session': { client: 'does not join again' },
  'nothing sent again after a recovery': { client: 'does not send again' },
  'new ackId for a message sent again': { tamper: newIdOnResend },
  'ids of processed requests forgotten by the hub': { recentIds: 'forgets' },
  'ids remembered by the hub before the request succeeded': { requests: 'remembers what failed' },
  'nothing repeated by the hub after a recovery': { session: 'repeats nothing' },
  'a frame waited for that a hub without signs of life does not send': { link: 'waits for a frame' },
  'a hub that answers no pings asked by nothing else': { link: 'asks by pings alone' },
  'the request for a sign of life under the id of a message': { link: 'borrows ids' },
  'silence taken for life': { link: 'takes silence for life' },
  'pings sent to a hub that refuses them': { link: 'pings on' },
  'live messages before repeated ones': { hub: 'replay before live traffic' },
}

const MOST_SCHEDULES = 2_000
const FIRST = 1

/** How many schedules it takes until somebody objects, and the objection. */
function caughtAfter(sabotage: Sabotage): { schedules: number; objection: string } | undefined {
  for (let seed = FIRST; seed < FIRST + MOST_SCHEDULES; seed++) {
    const [objection] = simulate(scheduleOf(seed), sabotage).violations
    if (objection !== undefined) return { schedules: seed - FIRST + 1, objection }
  }
  return undefined
}

describe('somebody objects when a safeguard of pub/sub is switched off', () => {
  afterEach(() => {
    switchedOff.mutation = {}
  })

  it.each(some(Object.entries(MUTATIONS), 4))('%s', { timeout: 60_000 }, (name, mutation) => {
    switchedOff.mutation = mutation
    const caught = caughtAfter(mutation)
    console.info(`${name}: caught after ${caught?.schedules} schedules: ${caught?.objection}`)
    expect(caught).toBeDefined()
  })
})
