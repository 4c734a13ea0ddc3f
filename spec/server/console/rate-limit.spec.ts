import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '../../../src/node/net/audit.js'
import { openConsole, rawRequest } from './open-console.js'

const FAR = { 'x-forwarded-for': '203.0.113.9, 192.0.2.1' }

/** Opens a console behind a proxy on this machine, which sends the client's address. */
async function open() {
  const console = await openConsole({ publicUrl: 'https://panel.example/console/' })
  const events: AuditEvent[] = []
  console.server.audit$.subscribe(event => events.push(event))
  // The requests use the console's port, despite its public URL.
  const server = { url: `http://127.0.0.1:${console.server.port}/` }
  const callApi = async (path: string, headers: Record<string, string> = FAR) =>
    rawRequest({ server }, path, { headers })
  return { ...console, callApi, events }
}

describe('The rate limit of the console', () => {
  it('five failed logins limit an address, but not its requests with the token', async () => {
    const { callApi, clock, server, events } = await open()
    for (let i = 0; i < 5; i++) expect((await callApi('/api/store')).status).toBe(401)
    expect(await callApi('/api/store')).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    expect((await callApi('/api/store', { ...FAR, authorization: `Bearer ${server.token}` })).status).toBe(200)
    expect((await callApi('/api/store', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(401)
    clock.advance(1_000)
    expect((await callApi('/api/store')).status).toBe(401)
    expect(events[0]).toMatchObject({ event: 'login', outcome: 'refused', listener: 'console', address: '192.0.2.1' })
    expect(JSON.stringify(events)).not.toContain(server.token)
  })

  it('requests without the token are limited per address and second', async () => {
    const { callApi, clock } = await open()
    const statuses: number[] = []
    // The burst is one second's worth of requests. One more request is accepted and delays the following ones.
    for (let i = 0; i < 101; i++) statuses.push((await callApi('/nothing.js')).status)
    expect(new Set(statuses)).toEqual(new Set([404]))
    expect((await callApi('/nothing.js')).status).toBe(429)
    expect((await callApi('/nothing.js', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(404)
    clock.advance(20)
    expect((await callApi('/nothing.js')).status).toBe(404)
  })

  it('pages of other origins and host names are audited, with or without the token', async () => {
    const { callApi, server, events } = await open()
    const foreign = { ...FAR, origin: 'https://evil.example' }
    expect((await callApi('/api/cut', { ...foreign, authorization: `Bearer ${server.token}` })).status).toBe(403)
    expect((await callApi('/api/store', { 'x-forwarded-for': '192.0.2.2', host: 'evil.example' })).status).toBe(403)
    const cut = { event: 'cut', listener: 'console', count: 1 }
    expect(events).toMatchObject([
      { ...cut, address: '192.0.2.1', reason: `page of https://evil.example at 127.0.0.1:${server.port}` },
      { ...cut, address: '192.0.2.2', reason: 'page of unknown origin at evil.example' },
    ])
  })

  it('logins and actions are written to the audit log', async () => {
    const { callApi, server, events } = await open()
    const headers = { ...FAR, authorization: `Bearer ${server.token}` }
    await callApi('/api/dump', headers)
    await callApi('/api/store', headers)
    expect(events.filter(({ event }) => event === 'order')).toMatchObject([
      { event: 'order', target: '/api/dump', address: '192.0.2.1', listener: 'console' },
    ])
  })

  it('GET /api/usage returns the usage of all quotas', async () => {
    const { callApi, server } = await open()
    const answer = await callApi('/api/usage', { authorization: `Bearer ${server.token}` })
    expect(JSON.parse(answer.text)).toMatchObject({
      total: { keys: 0, watches: 0, connections: 0, networkConnections: 0, refusedLogins: 0 },
      principals: [],
      addresses: [],
    })
  })
})
