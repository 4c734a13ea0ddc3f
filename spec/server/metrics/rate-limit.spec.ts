import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/core/util/clock.js'
import type { AuditEvent } from '../../../src/node/net/audit.js'
import { record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { openMetrics } from './exposition.js'

const TOKEN = 'a-token-of-more-than-32-characters'

// Clients at this machine are not limited.
vi.mock(import('../../../src/node/limits/network.js'), async original => ({
  ...(await original()),
  isThisMachine: () => false,
}))

async function open() {
  const { store } = await openStore({ clock: systemClock })
  const metrics = await openMetrics(store, { token: TOKEN })
  const audit = record<AuditEvent>(metrics.audit$)
  const get = async (path: string, token?: string): Promise<Response> =>
    fetch(new URL(path, metrics.url), token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
  return { audit, get }
}

describe('The rate limit of the metrics server', () => {
  it('an address is limited after five wrong tokens, but its requests with the token are still served', async () => {
    const { audit, get } = await open()
    for (let i = 0; i < 5; i++) expect((await get('metrics', 'wrong')).status).toBe(401)
    const limited = await get('healthz', 'wrong')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1'])
    expect((await get('metrics', TOKEN)).status).toBe(200)
    expect((await get('livez')).status).toBe(200)
    expect(audit.values[0]).toMatchObject({
      event: 'login',
      outcome: 'refused',
      listener: 'metrics',
      address: '127.0.0.1',
    })
    expect(audit.values.at(-1)).toMatchObject({ event: 'login', outcome: 'accepted', listener: 'metrics' })
    expect(JSON.stringify(audit.values)).not.toContain(TOKEN)
  })

  it('requests without the token are limited per address and second', async () => {
    const { get } = await open()
    const statuses: number[] = []
    while (!statuses.includes(429) && statuses.length < 1_000) statuses.push((await get('livez')).status)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect(statuses.length).toBeGreaterThan(100)
    expect((await get('metrics', TOKEN)).status).toBe(200)
  })
})
