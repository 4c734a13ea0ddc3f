import { describe, expect, it } from 'vitest'
import { HubDriver } from '../../../src/pubsub/hub/hub-driver.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openHub } from '../support/open-hub.js'
import { acknowledge, PacedClient } from '../support/paced-client.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

function build() {
  const clock = new ManualClock()
  const hub = new HubDriver({ retention: 60_000, idleTimeout: 120_000, clock, onError: () => undefined })
  return { clock, hub }
}

/** Sends messages of the application, to which backpressure does not apply. */
function sendToGroup(hub: HubDriver, group: string, count: number): void {
  const message = { type: 'groupMessage', group, payload: { dataType: 'json', data: 1 } } as const
  for (let i = 0; i < count; i++) hub.deliver(hub.engine.sessionIndex.ofGroup(group), message)
}

describe('backpressure', () => {
  it.each([20, 200, 900])('a sender can burst at a member that acknowledges after %i ms', away => {
    const { clock, hub } = build()
    const member = new PacedClient(hub, ['g'])
    const sender = new PacedClient(hub)
    acknowledge(member, clock, away)
    sender.publish('g', 2_000)
    expect(sender.acks).toBe(751)
    clock.advance(10_000)
    expect([sender.acks, member.sequenceIds.length, member.end]).toEqual([2_000, 2_000, undefined])
  })

  it('ten senders can burst at the same time', () => {
    const { clock, hub } = build()
    const member = new PacedClient(hub, ['g'])
    const senders = Array.from({ length: 10 }, () => new PacedClient(hub))
    acknowledge(member, clock, 20)
    for (const sender of senders) sender.publish('g', 1_000)
    clock.advance(5_000)
    expect([member.sequenceIds.length, member.end]).toEqual([10_000, undefined])
  })

  it.each([500, 1_900])(
    '2,000 senders of two messages each can burst at a member that acknowledges after %i ms',
    away => {
      const { clock, hub } = build()
      const member = new PacedClient(hub, ['g'])
      const senders = Array.from({ length: 2_000 }, () => new PacedClient(hub))
      acknowledge(member, clock, away)
      for (const sender of senders) sender.publish('g', 2)
      expect(member.sequenceIds).toHaveLength(1_000)
      clock.advance(60_000)
      expect([member.sequenceIds.length, member.end]).toEqual([4_000, undefined])
      expect(senders.every(({ acks }) => acks === 2)).toBe(true)
    },
  )

  it('40 senders of large messages can burst', { tags: 'slow' }, () => {
    const { clock, hub } = build()
    const member = new PacedClient(hub, ['g'])
    const senders = Array.from({ length: 40 }, () => new PacedClient(hub))
    acknowledge(member, clock, 500)
    const data = 'x'.repeat(1_000_000)
    for (const sender of senders) sender.take({ type: 'sendToGroup', group: 'g', data, ackId: 1 })
    expect(member.sequenceIds).toHaveLength(16)
    clock.advance(10_000)
    expect([member.sequenceIds.length, member.end]).toEqual([40, undefined])
  })

  it('a late sender is released before senders that already had messages accepted', { tags: 'slow' }, () => {
    const { hub } = build()
    const member = new PacedClient(hub, ['g'])
    const bursting = Array.from({ length: 300 }, () => new PacedClient(hub))
    for (const sender of bursting) sender.publish('g', 800)
    const late = new PacedClient(hub)
    late.publish('g', 1)
    expect([member.sequenceIds.length, late.acks]).toEqual([1_000, 0])
    member.take({ type: 'sequenceAck', sequenceId: 1_000 })
    expect([member.sequenceIds.length, late.acks]).toEqual([2_000, 1])
  })

  it('each of 2,000 senders waits at most four seconds for a member that never acknowledges', () => {
    const { clock, hub } = build()
    const member = new PacedClient(hub, ['g'])
    const senders = Array.from({ length: 2_000 }, () => new PacedClient(hub))
    for (const sender of senders) sender.publish('g', 2)
    clock.advance(3_999)
    expect([member.sequenceIds.length, member.end]).toEqual([1_000, undefined])
    clock.advance(1)
    expect(senders.every(({ acks }) => acks === 2)).toBe(true)
    expect([member.end, clock.pending]).toEqual(['close 1008 too many unacknowledged messages', 1])
  })

  it('a sender that recovers its session is held on its new link', () => {
    const { hub } = build()
    const [member, sender, link] = [new PacedClient(hub, ['g']), new PacedClient(hub), new PacedClient(hub)]
    sendToGroup(hub, 'g', 1_000)
    sender.publish('g', 1)
    const { connectionId } = sender.session
    const token = String(sender.parsed[0]?.['reconnectionToken'])
    expect(hub.recover({ connectionId, token }, link)).toBe(sender.session)
    const frame = JSON.stringify({ type: 'sendToGroup', group: 'g', data: 1, ackId: 1 })
    expect([hub.receive(sender.session, link, frame), member.end]).toEqual([0, undefined])
  })

  it('a sender of 10,000 messages is paced by a member that acknowledges once a second', () => {
    const { clock, hub } = build()
    const member = new PacedClient(hub, ['g'])
    const sender = new PacedClient(hub)
    acknowledge(member, clock, 500)
    sender.publish('g', 10_000)
    clock.advance(15_000)
    expect([sender.acks, member.sequenceIds.length, member.end]).toEqual([10_000, 10_000, undefined])
  })

  it('a sender can burst at itself, because its acknowledgements are read ahead', () => {
    const { clock, hub } = build()
    const ann = new PacedClient(hub, ['g'])
    ann.publish('g', 10_000)
    acknowledge(ann, clock, 500)
    clock.advance(15_000)
    expect([ann.acks, ann.sequenceIds.length, ann.end]).toEqual([10_000, 10_000, undefined])
  })

  it('five members that send 2,000 messages each to their group all receive every message', () => {
    const { clock, hub } = build()
    const clients = Array.from({ length: 5 }, () => new PacedClient(hub, ['g']))
    for (const client of clients) client.publish('g', 2_000)
    for (const client of clients) acknowledge(client, clock, 500)
    clock.advance(20_000)
    for (const { acks, end, sequenceIds } of clients) {
      expect([acks, sequenceIds.length, end]).toEqual([2_000, 10_000, undefined])
    }
  })

  it('a sender waits once for a member that never acks, which overflows at message 1001', () => {
    const { clock, hub } = build()
    const [dead, sender] = [new PacedClient(hub, ['g']), new PacedClient(hub)]
    sender.publish('g', 2_000)
    clock.advance(3_999)
    expect([sender.acks, dead.end]).toEqual([751, undefined])
    clock.advance(1)
    expect([sender.acks, dead.end]).toEqual([2_000, 'close 1008 too many unacknowledged messages'])
    expect(dead.sequenceIds).toHaveLength(1_001)
  })

  it('a sender waits once for any number of members that never acknowledge', () => {
    const { clock, hub } = build()
    const dead = Array.from({ length: 20 }, () => new PacedClient(hub, ['g']))
    const sender = new PacedClient(hub)
    sender.publish('g', 2_000)
    clock.advance(4_000)
    expect(sender.acks).toBe(2_000)
    expect(new Set(dead.map(({ end }) => end))).toEqual(new Set(['close 1008 too many unacknowledged messages']))
  })

  it('a sender waits once for members that never acknowledge, and again for a slow member', () => {
    const { clock, hub } = build()
    const [slow, sender] = [new PacedClient(hub, ['g']), new PacedClient(hub)]
    const dead = Array.from({ length: 5 }, () => new PacedClient(hub, ['g']))
    acknowledge(slow, clock, 900)
    sender.publish('g', 3_000)
    clock.advance(20_000)
    expect([sender.acks, slow.end, slow.sequenceIds.length]).toEqual([3_000, undefined, 3_000])
    expect(dead.every(({ end }) => end !== undefined)).toBe(true)
  })

  it('senders wait again for a member that has caught up and lags again', () => {
    const { clock, hub } = build()
    const [dead, live] = [new PacedClient(hub, ['g']), new PacedClient(hub, ['g', 'h'])]
    const [first, second, third] = [new PacedClient(hub), new PacedClient(hub), new PacedClient(hub)]
    first.publish('g', 751)
    clock.advance(3_000)
    live.take({ type: 'sequenceAck', sequenceId: 751 })
    second.publish('h', 800)
    clock.advance(1_000)
    third.publish('g', 100)
    expect([live.sequenceIds.length, live.end, dead.end]).toEqual([1_602, undefined, undefined])
  })

  it('senders wait again for a member that has caught up late', () => {
    const { clock, hub } = build()
    const [late, sender] = [new PacedClient(hub, ['g']), new PacedClient(hub)]
    sender.publish('g', 800)
    clock.advance(4_000)
    expect(sender.acks).toBe(800)
    late.take({ type: 'sequenceAck', sequenceId: 400 })
    const burst = (from: number, count: number): void => {
      for (let i = 0; i < count; i++) sender.take({ type: 'sendToGroup', group: 'g', data: i, ackId: from + i })
    }
    burst(1_000, 500)
    expect(sender.acks).toBe(1_300)
    late.take({ type: 'sequenceAck', sequenceId: 1_300 })
    burst(2_000, 800)
    expect([sender.acks, late.end]).toEqual([2_051, undefined])
  })

  it('senders to other groups and senders to disconnected members do not wait', () => {
    const { hub } = build()
    const [slow, quick, away] = [new PacedClient(hub, ['g']), new PacedClient(hub, ['h']), new PacedClient(hub, ['i'])]
    const senders = [new PacedClient(hub), new PacedClient(hub), new PacedClient(hub)]
    hub.onLinkClosed(away.session, away, 1006)
    for (const [i, sender] of senders.entries()) sender.publish('ghi'[i] ?? '', i === 1 ? 400 : 900)
    expect(senders.map(({ acks }) => acks)).toEqual([751, 400, 900])
    expect([slow.end, quick.sequenceIds.length]).toEqual([undefined, 400])
    senders[1]?.take({ type: 'ping' })
    expect(senders[1]?.parsed.at(-1)).toEqual({ type: 'pong' })
  })

  it('a sender is released immediately when the member disconnects or the hub closes', () => {
    const { clock, hub } = build()
    const [first, second, sender] = [new PacedClient(hub, ['g']), new PacedClient(hub, ['h']), new PacedClient(hub)]
    sender.publish('g', 800)
    hub.onLinkClosed(first.session, first, 1006)
    expect(sender.acks).toBe(800)
    const other = new PacedClient(hub)
    other.publish('h', 751)
    other.take({ type: 'ping' })
    expect([other.parsed.at(-1)?.['type'], second.end]).toEqual(['ack', undefined])
    hub.close()
    expect([hub.engine.sessionIndex.all.size, clock.pending]).toEqual([0, 0])
  })

  it('a sender waits for a member above 8 MiB until at most 4 MiB are left', () => {
    const { hub } = build()
    const [member, sender] = [new PacedClient(hub, ['g']), new PacedClient(hub)]
    const data = 'x'.repeat(1_000_000)
    for (let ackId = 1; ackId <= 12; ackId++) sender.take({ type: 'sendToGroup', group: 'g', data, ackId })
    expect(sender.acks).toBe(9)
    member.take({ type: 'sequenceAck', sequenceId: 4 })
    expect(sender.acks).toBe(9)
    member.take({ type: 'sequenceAck', sequenceId: 5 })
    expect([sender.acks, member.end]).toEqual([12, undefined])
  })

  it('a sender waits for the slowest of the lagging members', () => {
    const { hub } = build()
    const [quick, slow, sender] = [
      new PacedClient(hub, ['g', 'q']),
      new PacedClient(hub, ['g', 's']),
      new PacedClient(hub),
    ]
    sendToGroup(hub, 'g', 760)
    sendToGroup(hub, 's', 140)
    sender.publish('g', 2)
    quick.take({ type: 'sequenceAck', sequenceId: 761 })
    expect(sender.acks).toBe(1)
    slow.take({ type: 'sequenceAck', sequenceId: 901 })
    expect(sender.acks).toBe(2)
  })

  it('a sender does not wait for a member that lags behind with messages of another group', () => {
    const { clock, hub } = build()
    const [member, accomplice, sender] = [
      new PacedClient(hub, ['g', 'own']),
      new PacedClient(hub),
      new PacedClient(hub),
    ]
    accomplice.publish('own', 751)
    sender.publish('g', 180)
    expect([sender.acks, member.end]).toEqual([180, undefined])
    clock.advance(3_800)
    member.take({ type: 'sequenceAck', sequenceId: 931 })
    expect(member.end).toBeUndefined()
  })

  it('a sender waits once for members that never acknowledge and joined one message apart', () => {
    const { clock, hub } = build()
    const dead = Array.from({ length: 6 }, () => new PacedClient(hub))
    const sender = new PacedClient(hub)
    let ackId = 1
    const publish = (): void => sender.take({ type: 'sendToGroup', group: 'g', data: 1, ackId: ackId++ })
    for (const { session } of dead) {
      hub.engine.join(session, 'g')
      publish()
    }
    for (let i = 0; i < 2_000; i++) publish()
    clock.advance(4_000)
    expect(sender.acks).toBe(2_006)
    expect(dead.every(({ end }) => end?.startsWith('close 1008'))).toBe(true)
  })

  it('senders wait thirty seconds for the members of one user, then a quarter of the time', {
    tags: 'slow',
  }, () => {
    const { clock, hub } = build()
    const [member, sender] = [new PacedClient(hub, ['g']), new PacedClient(hub)]
    let ackId = 1
    // The member acknowledges as late as possible, and just enough to keep senders waiting.
    const round = (): number => {
      const before = clock.monotonic()
      for (let i = 0; i < 752; i++) sender.take({ type: 'sendToGroup', group: 'g', data: 1, ackId: ackId++ })
      if (sender.acks < ackId - 1) clock.advance(3_900)
      member.take({ type: 'sequenceAck', sequenceId: member.sequenceIds.length })
      return clock.monotonic() - before
    }
    let waited = 0
    for (let n = 0; n < 100; n++) waited += round()
    expect([waited, sender.acks, member.end]).toEqual([39_000, 75_200, undefined])
    clock.advance(16_000)
    expect([round(), round(), round()]).toEqual([3_900, 3_900, 0])
  })

  it('a sender does not wait for a held member whose receive queue is full', () => {
    const { hub } = build()
    const [ann, slow] = [new PacedClient(hub, ['g']), new PacedClient(hub, ['h'])]
    ann.publish('h', 800)
    ann.isReadPaused = true
    const bob = new PacedClient(hub)
    bob.publish('g', 900)
    expect([ann.acks, bob.acks, slow.end]).toEqual([751, 900, undefined])
  })

  it('the hub does not read the socket of a held sender', async () => {
    const { hub, clock } = await openHub()
    const [member, sender] = [await RawPubSubClient.connect(hub.url), await RawPubSubClient.connect(hub.url)]
    await member.join('g')
    const frame = { type: 'sendToGroup', group: 'g', dataType: 'json', data: 1 }
    for (let ackId = 1; ackId <= 1_200; ackId++) sender.send({ ...frame, ackId })
    await member.received(751)
    await member.settled()
    expect(member.messages).toHaveLength(751)
    clock.advance(3_999)
    member.send({ type: 'sequenceAck', sequenceId: 751 })
    await sender.waitForFrame(({ ackId }) => ackId === 1_200)
    await eventually(() => member.messages.length === 1_200)
  })

  it('hundreds of senders are each held after their first message', async () => {
    const { hub, sessionLog } = await openHub()
    const member = await RawPubSubClient.connect(hub.url)
    await member.join('g')
    const senders = await Promise.all(Array.from({ length: 300 }, () => RawPubSubClient.connect(hub.url)))
    const frame = { type: 'sendToGroup', group: 'g', dataType: 'json', data: 1 }
    for (let ackId = 1; ackId <= 751; ackId++) senders[0]?.send({ ...frame, ackId })
    await member.received(751)
    for (const sender of senders) sender.send({ ...frame, ackId: 1_000 })
    await member.received(1_000)
    await member.settled()
    expect(member.messages).toHaveLength(1_000)
    member.send({ type: 'sequenceAck', sequenceId: 1_000 })
    await Promise.all(senders.map(async sender => sender.waitForFrame(({ ackId }) => ackId === 1_000)))
    await member.received(1_051)
    expect(sessionLog.filter(line => line.startsWith('disconnected'))).toEqual([])
  })

  it('the hub reads ahead from a held sender to receive its acknowledgements', async () => {
    const { hub, sessionLog } = await openHub()
    const ann = await RawPubSubClient.connect(hub.url)
    await ann.join('g')
    const frame = { type: 'sendToGroup', group: 'g', dataType: 'json', data: 1 }
    for (let ackId = 2; ackId <= 6_000; ackId++) ann.send({ ...frame, ackId })
    for (let got = 0; got < 5_999; ) {
      got = Math.min(5_999, got + 751)
      await ann.received(got)
      ann.send({ type: 'sequenceAck', sequenceId: got })
    }
    await ann.waitForFrame(({ ackId }) => ackId === 6_000)
    expect(sessionLog).toEqual(['connected anonymous'])
  })
})
