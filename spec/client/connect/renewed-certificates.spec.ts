import { describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { type Credentials, number } from '../../../src/client/index.js'
import { certificates, firstOf, type StoreServer, serve } from '../../../src/server/index.js'
import { claimedPorts } from '../../support/claimed-ports.js'
import { openClient, record } from '../../support/open-client.js'

const panelOf = (authority: Authority): Credentials => ({ ca: authority.cert, ...authority.issue('/CN=panel') })

/** Serves with a certificate of an authority, and accepts only clients of that authority. */
async function serveWith(authority: Authority, ports: { port: number; wsPort: number }): Promise<StoreServer> {
  const tls = { ...authority.issue('/CN=localhost'), clientCa: authority.cert }
  const server = await serve({ ...ports, tls, authenticate: firstOf([certificates()]) })
  onTestFinished(async () => server.close())
  return server
}

describe('certificates that are renewed while a client runs', () => {
  it.each(['url', 'wsUrl'] as const)('are used at the next attempt to connect (%s)', async address => {
    let authority = new Authority('/CN=first')
    const ports = await claimedPorts()
    const first = await serveWith(authority, ports)
    const client = openClient(first[address], { credentials: () => panelOf(authority) })
    expect(await client.key('a', number).set(1)).toMatchObject({ applied: true })
    const states = record(client.status$)
    authority = new Authority('/CN=second')
    await first.close()
    await serveWith(authority, ports)
    await states.until(({ values }) => values.length > 1 && values.at(-1)?.state === 'connected')
    expect(await client.key('a', number).set(2)).toMatchObject({ applied: true })
  })

  it('keep the options of the same names where `credentials` returns none', async () => {
    const authority = new Authority('/CN=first')
    const { url } = await serveWith(authority, { port: 0, wsPort: 0 })
    const client = openClient(url, { ...panelOf(authority), credentials: () => ({}) })
    expect(await client.key('a', number).set(1)).toMatchObject({ applied: true })
  })
})
