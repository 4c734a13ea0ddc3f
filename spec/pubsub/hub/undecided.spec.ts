import { describe, expect, it } from 'vitest'
import { Dialect } from '../../../src/pubsub/hub/dialect.js'
import type { EventRequest } from '../../../src/pubsub/hub/event-request.js'
import { HubEngine } from '../../../src/pubsub/hub/hub-engine.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { VirtualLink } from '../support/virtual-link.js'

function build() {
  const asked: EventRequest[] = []
  const engine = new HubEngine({
    retention: 60_000,
    idleTimeout: 100_000,
    secret: bytes => 'x'.repeat(bytes),
    listener: { connected: () => undefined, disconnected: () => undefined, event: request => asked.push(request) > 0 },
  })
  const link = new VirtualLink()
  const session = engine.connect(link, new Dialect(jsonHubCodec), {}, 0)
  const ask = (ackId: number, data: string): void => {
    engine.receive(session, link, JSON.stringify({ type: 'event', event: 'e', dataType: 'text', data, ackId }), 0)
  }
  return { asked, engine, link, session, ask }
}

describe('Events that wait for a decision', () => {
  it('are refused beyond 16 MiB of a connection, until there is room again', () => {
    const { asked, engine, link, ask } = build()
    const data = 'x'.repeat(1024 * 1024 - 1_000)
    for (let ackId = 1; ackId <= 17; ackId++) ask(ackId, data)
    expect([asked.length, link.frames.length]).toEqual([16, 2])
    expect(link.parsed.at(-1)).toMatchObject({ ackId: 17, error: { name: 'InternalServerError' } })
    const [first] = asked
    if (first !== undefined) engine.events.accept(first)
    ask(17, data)
    expect(asked).toHaveLength(17)
  })

  it('are let go of when the session ends', () => {
    const { asked, engine, link, session, ask } = build()
    for (let ackId = 1; ackId <= 10; ackId++) ask(ackId, 'x')
    engine.dropped(session, link, 1000, 1)
    expect([engine.nextDeadline, engine.events.waits(session, 1n)]).toEqual([undefined, false])
    for (const request of asked) engine.events.accept(request, { dataType: 'json', data: 'late' })
    expect([link.frames.length, asked.every(({ settled }) => settled)]).toEqual([1, true])
  })
})
