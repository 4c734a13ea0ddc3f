import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/core/util/clock.js'
import type { AuditEvent } from '../../../src/node/net/audit.js'
import { record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { stopMonotonicTime } from '../../support/stop-time.js'
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
  return { audit, get, port: Number(new URL(metrics.url).port) }
}

describe('The rate limit of the metrics server', () => {
  it('five wrong tokens limit an address, but not its requests with the token', async () => {
    stopMonotonicTime()
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
    const { get, port } = await open()
    const socket = connect(port, '127.0.0.1')
    const request = (more = ''): string => `GET /livez HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`
    socket.end(request().repeat(2_000) + request('connection: close\r\n'))
    const statuses = Array.from((await readText(socket)).matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => status)
    expect(statuses.slice(0, 100)).toEqual(Array<string>(100).fill('200'))
    expect(new Set(statuses)).toEqual(new Set(['200', '429']))
    expect((await get('metrics', TOKEN)).status).toBe(200)
  })
})
