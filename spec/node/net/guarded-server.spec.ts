import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/util/clock.js'
import { Audit, type AuditEvent } from '../../../src/node/net/audit.js'
import { GuardedServer, limitUnauthenticated } from '../../../src/node/net/guarded-server.js'
import { portOf } from '../../../src/node/net/listening.js'

const audit = new Audit(systemClock)
const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

async function started(limits: { maxConnections: number; maxConnectionsPerAddress?: number; spare?: number }) {
  const unauthenticated = limitUnauthenticated('console', limits.spare ?? 10, audit)
  const server = new GuardedServer({ ...limits, name: 'console', tls: undefined }, audit, unauthenticated)
  open.push(server)
  await server.listen(0, '127.0.0.1')
  const cuts: AuditEvent[] = []
  audit.events$.subscribe(event => cuts.push(event))
  const client = (): Socket => connect(portOf(server.http), '127.0.0.1').on('error', () => undefined)
  return { server, cuts, client }
}

describe('A guarded server', () => {
  it('an accept that fails for lack of descriptors is audited and does not end the process', async () => {
    const { server, cuts, client } = await started({ maxConnections: 10 })
    server.http.emit('error', new Error('accept ENFILE'))
    await expect.poll(() => cuts).toMatchObject([{ event: 'cut', listener: 'console', count: 1 }])
    expect(cuts[0]?.reason).toContain('accept ENFILE')
    await once(client(), 'connect')
  })

  it('connections beyond the limit are refused, counted and audited', async () => {
    const { server, cuts, client } = await started({ maxConnections: 1 })
    await once(client(), 'connect')
    await once(client(), 'close')
    expect([server.connections.count, server.connections.refused]).toEqual([1, 1])
    await expect.poll(() => cuts).toMatchObject([{ reason: 'limit of 1 connections', address: '127.0.0.1' }])
  })

  it('a further unauthenticated connection replaces the oldest one', async () => {
    const { cuts, client } = await started({ maxConnections: 10, spare: 1 })
    const first = client()
    const ended = once(first, 'close')
    await once(first, 'connect')
    await once(client(), 'connect')
    await ended
    await expect.poll(() => cuts).toMatchObject([{ reason: 'limit of 1 unauthenticated connections' }])
  })

  it('connections stay when the server stops listening, and end when it closes', async () => {
    const { server, client } = await started({ maxConnections: 10 })
    const first = client()
    await once(first, 'connect')
    await expect.poll(() => server.connections.count).toBe(1)
    server.stopListening()
    await new Promise(resolve => client().once('close', resolve))
    expect(first.destroyed).toBe(false)
    await Promise.all([once(first, 'close'), server.close()])
  })
})
