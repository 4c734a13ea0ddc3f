import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '../../../src/node/net/audit.js'
import { openConsole, rawRequest } from './open-console.js'

const FAR = { 'x-forwarded-for': '203.0.113.9, 192.0.2.1' }

/** A console behind a proxy on this machine, which says who asks. */
async function open() {
  const console = await openConsole({ publicUrl: 'https://panel.example/console/' })
  const events: AuditEvent[] = []
  console.server.audit$.subscribe(event => events.push(event))
  // What is asked for is the port, whatever the public address says.
  const server = { url: `http://127.0.0.1:${console.server.port}/` }
  const ask = async (path: string, headers: Record<string, string> = FAR) => rawRequest({ server }, path, { headers })
  return { ...console, ask, events }
}

describe('A console', () => {
  it('lets an address that shows wrong tokens wait, and nobody who has the right one', async () => {
    const { ask, clock, server, events } = await open()
    for (let i = 0; i < 5; i++) expect((await ask('/api/store')).status).toBe(401)
    expect(await ask('/api/store')).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    expect((await ask('/api/store', { ...FAR, authorization: `Bearer ${server.token}` })).status).toBe(200)
    expect((await ask('/api/store', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(401)
    clock.advance(1_000)
    expect((await ask('/api/store')).status).toBe(401)
    expect(events[0]).toMatchObject({ event: 'login', outcome: 'refused', listener: 'console', address: '192.0.2.1' })
    expect(JSON.stringify(events)).not.toContain(server.token)
  })

  it('answers so many requests of one address in a second, without the token', async () => {
    const { ask, clock } = await open()
    const statuses: number[] = []
    // What is free at first is a second's worth; the next is let through, and makes the others wait.
    for (let i = 0; i < 101; i++) statuses.push((await ask('/nothing.js')).status)
    expect(new Set(statuses)).toEqual(new Set([404]))
    expect((await ask('/nothing.js')).status).toBe(429)
    expect((await ask('/nothing.js', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(404)
    clock.advance(20)
    expect((await ask('/nothing.js')).status).toBe(404)
  })

  it('puts on record who came in, and what it was told to do', async () => {
    const { ask, server, events } = await open()
    const headers = { ...FAR, authorization: `Bearer ${server.token}` }
    await ask('/api/dump', headers)
    await ask('/api/store', headers)
    expect(events.filter(({ event }) => event === 'order')).toMatchObject([
      { event: 'order', target: '/api/dump', address: '192.0.2.1', listener: 'console' },
    ])
  })

  it('tells what there is of what there are quotas of', async () => {
    const { ask, server } = await open()
    const answer = await ask('/api/usage', { authorization: `Bearer ${server.token}` })
    expect(JSON.parse(answer.text)).toMatchObject({
      total: { keys: 0, watches: 0, connections: 0, networkConnections: 0, refusedLogins: 0 },
      principals: [],
      addresses: [],
    })
  })
})
