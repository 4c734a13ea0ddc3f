import { describe, expect, it } from 'vitest'
import { Audit, type AuditEvent } from '../../../src/node/net/audit.js'
import { ManualClock } from '../../support/manual-clock.js'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

function open() {
  const clock = new ManualClock()
  const audit = new Audit(clock)
  const events: Omit<AuditEvent, 'time'>[] = []
  audit.events$.subscribe(({ time: _, ...event }) => events.push(event))
  const cut = (address: string, reason = 'limit of 10 connections') =>
    audit.reportCut({ limit: 'connections', reason, address, listener: 'mqtt' })
  return { clock, audit, events, cut }
}

describe('Audit entries of closed connections', () => {
  it('the first connection of an address is written at once, later ones counted every 10 s', async () => {
    const { clock, events, cut } = open()
    for (let n = 0; n < 1_000; n++) cut('192.0.2.1')
    cut('192.0.2.2')
    await turn()
    const first = { event: 'cut', reason: 'limit of 10 connections', listener: 'mqtt', count: 1 }
    expect(events).toEqual([
      { ...first, address: '192.0.2.1' },
      { ...first, address: '192.0.2.2' },
    ])
    clock.advance(10_000)
    await turn()
    expect(events.slice(2)).toEqual([{ ...first, address: '192.0.2.1', count: 999 }])
    clock.advance(10_000)
    await turn()
    expect(events).toHaveLength(3)
  })

  it('are combined for the addresses beyond the first hundred', async () => {
    const { audit, events, cut } = open()
    for (let n = 0; n < 1_000; n++) cut(`192.0.2.${n}`)
    audit.close()
    await turn()
    expect(events).toHaveLength(102)
    expect(events.at(-1)).toMatchObject({ event: 'cut', count: 899 })
    expect(events.at(-1)?.address).toBeUndefined()
    expect(events.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(1_000)
  })
})

describe('Audit entries of foreign pages', () => {
  it('are one group for each address, whatever origin they name, and leave room for others', async () => {
    const { audit, events, cut } = open()
    for (let n = 0; n < 1_000; n++)
      audit.reportCut({ limit: 'origin', reason: `page of https://${n}`, address: '192.0.2.1', listener: 'ws' })
    cut('192.0.2.2')
    await turn()
    expect(events.map(({ address, reason }) => [address, reason])).toEqual([
      ['192.0.2.1', 'page of https://0'],
      ['192.0.2.2', 'limit of 10 connections'],
    ])
  })
})

describe('The limit on audit entries per second', () => {
  it('counts further rejections, and does not hide the logins after them', async () => {
    const { clock, audit, events } = open()
    for (let n = 0; n < 1_000; n++) audit.report({ event: 'login', outcome: 'refused' })
    audit.report({ event: 'login', outcome: 'accepted', username: 'ann' })
    await turn()
    expect(events).toHaveLength(201)
    expect(events.at(-1)).toEqual({ event: 'login', outcome: 'accepted', username: 'ann' })
    clock.advance(1_000)
    audit.report({ event: 'refused', action: 'write' })
    await turn()
    expect(events.slice(201)).toEqual([
      { event: 'suppressed', count: 800 },
      { event: 'refused', action: 'write' },
    ])
  })

  it('reports the number of suppressed events after a second without further ones', async () => {
    const { clock, audit, events } = open()
    for (let n = 0; n < 1_000; n++) audit.report({ event: 'login', outcome: 'refused' })
    for (let n = 0; n < 300; n++) audit.report({ event: 'order' })
    clock.advance(1_000)
    await turn()
    expect(events.slice(400)).toEqual([
      { event: 'suppressed', count: 800 },
      { event: 'suppressed', count: 100 },
    ])
    clock.advance(5_000)
    audit.report({ event: 'login', outcome: 'refused' })
    await turn()
    expect(events.slice(402)).toEqual([{ event: 'login', outcome: 'refused' }])
    expect(clock.pending).toBe(0)
  })

  it('reports the number of suppressed events when the log closes', async () => {
    const { clock, audit, events } = open()
    for (let n = 0; n < 1_000; n++) audit.report({ event: 'login', outcome: 'refused' })
    audit.close()
    await turn()
    expect(events.slice(200)).toEqual([{ event: 'suppressed', count: 800 }])
    expect(clock.pending).toBe(0)
  })

  it('also holds for other events, such as operations', async () => {
    const { audit, events } = open()
    for (let n = 0; n < 1_000; n++) audit.report({ event: 'order', target: '/api/dump' })
    await turn()
    expect(events).toHaveLength(200)
  })
})
