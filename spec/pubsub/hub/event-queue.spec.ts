import { describe, expect, it } from 'vitest'
import type { EventRequest } from '../../../src/pubsub/hub/event-queue.js'
import { HubEngine } from '../../../src/pubsub/hub/hub-engine.js'
import { SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { VirtualLink } from '../support/virtual-link.js'

function build() {
  const asked: EventRequest[] = []
  const engine = new HubEngine({
    retention: 60_000,
    idleTimeout: 100_000,
    generateSecret: bytes => 'x'.repeat(bytes),
    onError: error => {
      throw error
    },
    listener: { connected: () => undefined, disconnected: () => undefined, event: request => asked.push(request) > 0 },
  })
  const link = new VirtualLink()
  const session = engine.connect(link, new SharedCodec(jsonHubCodec), {}, 0)
  const ask = (ackId: number, data: string): void => {
    engine.receive(session, link, JSON.stringify({ type: 'event', event: 'e', dataType: 'text', data, ackId }), 0)
  }
  return { asked, engine, link, session, ask }
}

describe('undecided events', () => {
  it('events beyond 16 MiB per connection are rejected until earlier events are decided', () => {
    const { asked, engine, link, ask } = build()
    const data = 'x'.repeat(1024 * 1024 - 1_000)
    for (let ackId = 1; ackId <= 17; ackId++) ask(ackId, data)
    expect([asked.length, link.frames.length]).toEqual([16, 2])
    expect(link.parsed.at(-1)).toMatchObject({ ackId: 17, error: { name: 'InternalServerError' } })
    const [first] = asked
    if (first !== undefined) engine.events.accept(first, 0)
    ask(17, data)
    expect(asked).toHaveLength(17)
  })

  it('a rejected event is acknowledged over a recovered link only after its repetition', () => {
    const { asked, engine, session, link, ask } = build()
    ask(1, 'x')
    engine.onLinkClosed(session, link, 1006, 1)
    const second = new VirtualLink()
    engine.recover({ connectionId: session.connectionId, token: 'x'.repeat(32) }, second, 2)
    const refuse = (request: EventRequest | undefined): void => {
      if (request) engine.events.refuse(request, { name: 'InternalServerError', message: 'not now' })
    }
    refuse(asked[0])
    expect(second.frames).toEqual([])
    const copy = JSON.stringify({ type: 'event', event: 'e', dataType: 'text', data: 'x', ackId: 1 })
    engine.receive(session, second, copy, 3)
    engine.receive(session, second, copy, 3)
    expect(asked).toHaveLength(2)
    refuse(asked[1])
    expect(second.parsed).toMatchObject([{ ackId: 1, success: false }])
  })

  it('over a recovered link, a repeated event can be rejected, and an accepted one is acked', () => {
    const { asked, engine, session, link, ask } = build()
    ask(1, 'x')
    ask(2, 'y')
    engine.onLinkClosed(session, link, 1006, 1)
    const second = new VirtualLink()
    engine.recover({ connectionId: session.connectionId, token: 'x'.repeat(32) }, second, 2)
    engine.receive(
      session,
      second,
      JSON.stringify({ type: 'event', event: 'e', dataType: 'text', data: 'x', ackId: 1 }),
      3,
    )
    const [first, other] = asked
    if (first) engine.events.refuse(first, { name: 'NotFound', message: '' })
    if (other) engine.events.accept(other, 0)
    expect([asked.length, second.parsed]).toMatchObject([
      2,
      [
        { ackId: 1, success: false },
        { ackId: 2, success: true },
      ],
    ])
  })

  it('of an ended session are dropped', () => {
    const { asked, engine, link, session, ask } = build()
    for (let ackId = 1; ackId <= 10; ackId++) ask(ackId, 'x')
    engine.onLinkClosed(session, link, 1000, 1)
    expect([engine.deadline, engine.events.bytesOf(session)]).toEqual([Number.POSITIVE_INFINITY, 0])
    for (const request of asked) engine.events.accept(request, 0, { dataType: 'json', data: 'late' })
    expect([link.frames.length, asked.every(({ isSettled: settled }) => settled)]).toEqual([1, true])
  })
})
