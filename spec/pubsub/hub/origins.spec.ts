import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { type ServePubSubOptions, servePubSub } from '../../../src/pubsub/hub/index.js'
import { openHub } from '../support/open-hub.js'
import { upgradeStatus } from '../support/upgrade.js'

const KEY = 'a key of no less than thirty-two bytes'

describe('origins of a hub', () => {
  it.each([
    ['on this machine', { origin: 'http://localhost:3000' }, {}],
    ['of an allowed origin', { origin: 'https://panel.example' }, { allowedOrigins: ['https://panel.example'] }],
    ['of the public URL', { origin: 'https://hub.example' }, { publicUrl: 'wss://hub.example' }],
  ])('a page %s may connect', async (_, headers, options: Partial<ServePubSubOptions>) => {
    const { hub, server } = await openHub(options)
    expect(await upgradeStatus(`ws://127.0.0.1:${server.port}${new URL(hub.url).pathname}`, headers)).toBe(101)
  })

  it.each([
    ['of another origin', { origin: 'https://evil.example' }],
    ['with a rebound host name', { origin: 'http://evil.example', host: 'evil.example' }],
    ['with the origin `null`', { origin: 'null' }],
  ])('a page %s is refused and audited', async (_, headers) => {
    const { hub, server } = await openHub()
    const record: unknown[] = []
    server.audit$.subscribe(({ outcome, reason }) => record.push([outcome, reason]))
    expect(await upgradeStatus(hub.url, headers)).toBe(403)
    expect(await upgradeStatus(`${hub.url}?awps_connection_id=x&awps_reconnection_token=y`, headers)).toBe(403)
    expect(record).toEqual(Array(2).fill(['refused', 'Pages of other origins may not connect']))
    expect(hub.connections).toEqual([])
  })

  it.each(['x', [5], ['https://panel.example/'], 'https://panel.example'])(
    'servePubSub rejects the origins %j',
    async wrong => {
      const options = { port: 0, authenticate: { key: KEY }, allowedOrigins: JSON.parse(JSON.stringify(wrong)) }
      await expect(servePubSub(options)).rejects.toMatchObject({ code: 'argument' })
    },
  )

  it('a hub with anonymous access listens only on loopback unless `allowAnonymous` is set', async () => {
    const options = { host: '0.0.0.0', port: 0, authenticate: 'anonymous' } as const
    await expect(servePubSub(options)).rejects.toMatchObject({ code: 'argument' })
    const warnings: string[] = []
    const warn = (words: string): void => void warnings.push(words)
    await (await servePubSub({ ...options, warn, authenticate: { key: KEY } })).close()
    await (await servePubSub({ ...options, warn, host: '127.0.0.1' })).close()
    expect(warnings).toEqual([])
    await (await servePubSub({ ...options, warn, allowAnonymous: true })).close()
    expect(warnings).toEqual(['anonymous clients on 0.0.0.0 have full access'])
  })

  it('servePubSub rejects with the error that `warn` throws, and frees the port', async () => {
    const warn = (words: string): void => {
      throw new Error(words)
    }
    const port = await freePort()
    const options = { host: '0.0.0.0', port, authenticate: 'anonymous', allowAnonymous: true } as const
    await expect(servePubSub({ ...options, warn })).rejects.toThrow('anonymous clients on 0.0.0.0 have full access')
    await (await servePubSub({ ...options, warn: () => undefined })).close()
  })

  it('servePubSub warns when a given server with anonymous access listens beyond loopback', async () => {
    const warnings: string[] = []
    for (const host of ['0.0.0.0', '127.0.0.1']) {
      const server = createServer()
      const hub = await servePubSub({ server, authenticate: 'anonymous', warn: words => warnings.push(words) })
      server.listen(0, host)
      await once(server, 'listening')
      await hub.close()
      server.close()
    }
    expect(warnings).toEqual([expect.stringMatching('0.0.0.0')])
  })
})
