import { describe, expect, it } from 'vitest'
import { Dialect } from '../../../src/pubsub/hub/dialect.js'
import { HubDriver } from '../../../src/pubsub/hub/hub-driver.js'
import type { Source } from '../../../src/pubsub/hub/pacing.js'
import type { Session } from '../../../src/pubsub/hub/session.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { VirtualLink } from '../support/virtual-link.js'

const dialect = new Dialect(jsonHubCodec)
const roles = ['webpubsub.sendToGroup']

function build() {
  const clock = new ManualClock()
  const hub = new HubDriver({ retention: 60_000, idleTimeout: 120_000, clock })
  return { clock, hub }
}

/** A client whose frames wait while it is held. */
class Client extends VirtualLink implements Source {
  readonly session: Session
  readonly #hub: HubDriver
  readonly #waiting: object[] = []
  #held = false

  constructor(hub: HubDriver, groups: readonly string[] = []) {
    super()
    this.#hub = hub
    this.session = hub.connect(this, dialect, { roles, groups })
  }

  hold(): void {
    this.#held = true
  }

  release(): void {
    this.#held = false
    this.#work()
  }

  take(...frames: readonly object[]): void {
    this.#waiting.push(...frames)
    this.#work()
  }

  publish(group: string, count: number): void {
    for (let ackId = 1; ackId <= count; ackId++) this.take({ type: 'sendToGroup', group, data: ackId, ackId })
  }

  get acks(): number {
    return this.parsed.filter(({ success }) => success === true).length
  }

  #work(): void {
    while (!this.#held) {
      const frame = this.#waiting.shift()
      if (frame === undefined) return
      this.#hub.receive(this.session, this, JSON.stringify(frame))
    }
  }
}

/** A member that acknowledges what it gets, so many ms away. */
function acknowledge(member: Client, clock: ManualClock, away: number): void {
  clock.schedule(2 * away, () => {
    member.take({ type: 'sequenceAck', sequenceId: member.sequenceIds.length })
    acknowledge(member, clock, away)
  })
}

describe('A sender', () => {
  it.each([20, 100, 200])('may burst at a member %i ms away', away => {
    const { clock, hub } = build()
    const member = new Client(hub, ['g'])
    const sender = new Client(hub)
    acknowledge(member, clock, away)
    sender.publish('g', 2_000)
    expect(sender.acks).toBe(501)
    clock.advance(5_000)
    expect([sender.acks, member.sequenceIds.length, member.end]).toEqual([2_000, 2_000, undefined])
  })

  it('is not alone: ten of them burst at once', () => {
    const { clock, hub } = build()
    const member = new Client(hub, ['g'])
    const senders = Array.from({ length: 10 }, () => new Client(hub))
    acknowledge(member, clock, 20)
    for (const sender of senders) sender.publish('g', 1_000)
    clock.advance(5_000)
    expect([member.sequenceIds.length, member.end]).toEqual([10_000, undefined])
  })

  it('waits twice for a member that is dead, which overflows at message 1001', () => {
    const { clock, hub } = build()
    const [dead, sender] = [new Client(hub, ['g']), new Client(hub)]
    sender.publish('g', 2_000)
    clock.advance(249)
    expect(sender.acks).toBe(501)
    clock.advance(1)
    expect([sender.acks, dead.end]).toEqual([752, undefined])
    clock.advance(250)
    expect([sender.acks, dead.end]).toEqual([2_000, 'close 1008 too much is not acknowledged'])
    expect(dead.sequenceIds).toHaveLength(1_001)
  })

  it('delays nobody who sends to another group, nor waits for who is away', () => {
    const { hub } = build()
    const [slow, quick, away] = [new Client(hub, ['g']), new Client(hub, ['h']), new Client(hub, ['i'])]
    const senders = [new Client(hub), new Client(hub), new Client(hub)]
    hub.dropped(away.session, away, 1006)
    for (const [i, sender] of senders.entries()) sender.publish('ghi'[i] ?? '', i === 1 ? 400 : 900)
    expect(senders.map(({ acks }) => acks)).toEqual([501, 400, 900])
    expect([slow.end, quick.sequenceIds.length]).toEqual([undefined, 400])
    senders[1]?.take({ type: 'ping' })
    expect(senders[1]?.parsed.at(-1)).toEqual({ type: 'pong' })
  })

  it('goes on at once when the member is away or the hub closes', () => {
    const { hub } = build()
    const [first, second, sender] = [new Client(hub, ['g']), new Client(hub, ['h']), new Client(hub)]
    sender.publish('g', 600)
    hub.dropped(first.session, first, 1006)
    expect(sender.acks).toBe(600)
    const other = new Client(hub)
    other.publish('h', 501)
    other.take({ type: 'ping' })
    expect([other.parsed.at(-1)?.['type'], second.end]).toEqual(['ack', undefined])
    hub.close()
    expect(hub.engine.roster.all.size).toBe(0)
  })

  it('does not wait for itself, nor for one that waits for it', () => {
    const { clock, hub } = build()
    const [ann, bob] = [new Client(hub, ['g']), new Client(hub, ['g'])]
    ann.publish('g', 600)
    expect(ann.acks).toBe(501)
    bob.publish('g', 100)
    expect(bob.acks).toBe(100)
    bob.take({ type: 'sequenceAck', sequenceId: bob.sequenceIds.length })
    expect([ann.acks, ann.end]).toEqual([600, undefined])
    clock.advance(1_000)
  })

  it('is really not read from meanwhile', async () => {
    const { hub, clock } = await openHub()
    const [member, sender] = [await RawPubSubClient.connect(hub.url), await RawPubSubClient.connect(hub.url)]
    await member.join('g')
    const frame = { type: 'sendToGroup', group: 'g', dataType: 'json', data: 1 }
    for (let ackId = 1; ackId <= 800; ackId++) sender.send({ ...frame, ackId })
    await member.received(501)
    await member.settled()
    expect(member.messages).toHaveLength(501)
    clock.advance(250)
    await member.received(752)
    member.send({ type: 'sequenceAck', sequenceId: 752 })
    await sender.seen(({ ackId }) => ackId === 800)
    await eventually(() => member.messages.length === 800)
  })
})
