import { expect, it } from 'vitest'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient, recoveryUrl } from '../support/raw-pubsub-client.js'
import { upgradeStatus } from '../support/upgrade.js'

it('failed recoveries are limited to 100 per address and second, valid ones are not', {
  tags: 'slow',
}, async () => {
  const { hub, server, clock } = await openHub({ publicUrl: 'wss://hub.example' })
  const local = hub.url.replace('wss://hub.example', `ws://127.0.0.1:${server.port}`)
  const reasons: (string | undefined)[] = []
  server.audit$.subscribe(({ outcome, reason }) => reasons.push(`${outcome} ${reason}`))
  const client = await RawPubSubClient.connect(local)
  const claim = async (token: string): Promise<number | undefined> => {
    const url = recoveryUrl(local, client.connectionId, token)
    return upgradeStatus(url, { 'x-forwarded-for': '192.0.2.1' })
  }
  // The burst of one second, and one more attempt, for which the next claim waits.
  for (let n = 0; n < 101; n++) expect(await claim(`wrong ${n}`)).toBe(101)
  expect(await claim('wrong')).toBe(429)
  expect(await claim(client.reconnectionToken)).toBe(101)
  clock.advance(1_000)
  expect(await claim('wrong')).toBe(101)
  expect(reasons.slice(-3)).toEqual([
    'refused recovery with a wrong token',
    'accepted recovery from a different address than 127.0.0.1 while it was connected',
    'refused recovery with a wrong token',
  ])
})
