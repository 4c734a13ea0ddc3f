import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '../../../src/node/net/audit.js'
import { StoreClient } from '../../support/store-client.js'
import { openConsole } from './open-console.js'

const FAULTS: readonly (readonly [string, object])[] = [
  ['/api/cut', { clientId: 'alice' }],
  ['/api/freeze', { ms: 60_000 }],
  ['/api/restart', { keys: 'lost' }],
]

/** Opens a console with a client of its store, and records its audit log without logins. */
async function open(options: { readonly faults?: boolean } = {}) {
  const console = await openConsole(options)
  const events: AuditEvent[] = []
  console.server.audit$.subscribe(event => event.event !== 'login' && events.push(event))
  await console.store.load([{ key: 'k', value: 'v' }])
  const alice = await StoreClient.ready(console.store.url, 'alice')
  return { ...console, alice, events }
}

describe('The faults of the console', () => {
  it.each(FAULTS)('%s is refused and audited without `faults`', async (path, body) => {
    const { store, callApi, alice, events } = await open()
    const { startedAt } = store
    const answer = await callApi(path, body)
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'faults' }])
    await alice.settled()
    expect([store.frozenUntil, store.startedAt, store.stats.keys]).toEqual([undefined, startedAt, 1])
    expect(events).toMatchObject([
      { event: 'refused', target: path, username: 'console', address: '127.0.0.1', listener: 'console' },
    ])
  })

  it.each(FAULTS)('%s is audited with its sender and its details before it happens', async (path, body) => {
    const { callApi, events } = await open({ faults: true })
    expect((await callApi(path, body)).status).toBe(200)
    const target = `${path} ${JSON.stringify(body)}`
    expect(events).toMatchObject([
      { event: 'order', target, username: 'console', address: '127.0.0.1', listener: 'console' },
    ])
  })

  it('a fault with an invalid body is not performed and leaves no line', async () => {
    const { callApi, events } = await open({ faults: true })
    expect((await callApi('/api/restart', { keys: 'some' })).status).toBe(400)
    expect(events).toEqual([])
  })

  it('the page learns whether to show the buttons', async () => {
    expect(await (await (await open()).callApi('/api/store')).json()).not.toHaveProperty('faults')
    expect(await (await (await open({ faults: true })).callApi('/api/store')).json()).toMatchObject({ faults: true })
  })
})
