import { describe, expect, it } from 'vitest'
import { openCore, type ScriptedClient } from './scripted-client.js'

const MB = 1_000_000
const LARGE = 'x'.repeat(90_000)
const PERSISTENT = { clean: false, properties: { sessionExpiryInterval: 60 } }

/**
 * Opens a broker on which clients named `unauthenticated` never finish authentication, and an offline session with a
 * queued message.
 */
function open() {
  const scene = openCore(
    {
      authenticate: ({ clientId }) =>
        clientId.startsWith('unauthenticated') ? new Promise(() => undefined) : { type: 'accepted' },
    },
    { memoryBudget: 4 * MB },
  )
  const client = scene.connect('sleeper', PERSISTENT)
  client.subscribe('news')
  client.lose()
  const writer = scene.connect('writer')
  const write = (): unknown => writer.publish('news', LARGE)
  const unauthenticated: ScriptedClient[] = []
  /** Sends large packets before authentication completes. */
  const sendEarly = (packets: number): void => {
    const client = scene.connect(`unauthenticated ${unauthenticated.length}`)
    unauthenticated.push(client)
    for (let n = 0; n < packets; n++) client.publish('news', LARGE)
  }
  return { ...scene, writer, write, sendEarly, unauthenticated }
}

describe('packets sent before authentication', () => {
  it('are discarded, the largest connection first, before any session ends', () => {
    const { core, connect, write, sendEarly, unauthenticated } = open()
    for (let n = 0; n < 5; n++) write()
    for (const packets of [3, 10, 5, 10, 4]) sendEarly(packets)
    while (core.budget.used + LARGE.length < core.budget.limit) write()
    expect(unauthenticated.map(({ ended }) => ended)).toEqual([false, false, false, false, false])
    write()
    expect(unauthenticated.map(({ ended }) => ended)).toEqual([false, true, false, false, false])
    expect(core.budget.used).toBeLessThanOrEqual((7 / 8) * core.budget.limit)
    const written = connect('sleeper', PERSISTENT).messages.length
    expect(written).toBeGreaterThan(5)
  })

  it('are discarded after a retained message was rejected for lack of memory', () => {
    const { core, clock, writer, sendEarly, unauthenticated } = open()
    for (const packets of [10, 10, 10, 10, 4]) sendEarly(packets)
    const retain = (topic: string): unknown => writer.publish(topic, LARGE, { retain: true }).at(-1)
    for (let n = 0; core.budget.used + LARGE.length < core.budget.limit; n++) retain(`kept/${n}`)
    expect(retain('more')).toMatchObject({ reasonCode: 0x97 })
    clock.advance(0)
    expect(unauthenticated.filter(({ ended }) => ended)).toHaveLength(1)
    expect(retain('more')).not.toMatchObject({ reasonCode: 0x97 })
  })
})

describe('a client that is being admitted', () => {
  it('is not evicted because of the will of the connection it replaces', () => {
    const scene = openCore({}, { memoryBudget: MB })
    for (let n = 0; n < 10; n++) {
      const successor = scene.connect(`heir ${n}`, PERSISTENT)
      successor.subscribe('will')
      successor.lose()
    }
    const left = 'x'.repeat(60_000)
    const will = { topic: 'will', payload: Buffer.from(left), qos: 1, retain: false } as const
    scene.connect('panel', { ...PERSISTENT, will })
    const filler = scene.connect('filler', PERSISTENT)
    filler.subscribe('filling')
    filler.lose()
    const writer = scene.connect('writer')
    const { budget } = scene.core
    while (budget.used + 140_000 < budget.limit) writer.publish('filling', 'x'.repeat(10_000))
    const properties = { sessionExpiryInterval: 60, userProperties: { a: 'x'.repeat(40_000) } }
    const again = scene.connect('panel', { clean: false, properties })
    expect(again.ended).toBe(false)
    again.lose()
    writer.lose()
    expect(scene.core.connectionCount).toBe(0)
  })
})
