import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { Authority } from '../../../harness/certificates.js'
import { freePort } from '../../../harness/free-port.js'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { serveConsole } from '../../../src/server/console/index.js'
import { firstOf, type Method, serve } from '../../../src/server/index.js'
import { runNginx } from '../../support/nginx.js'

const PAGE = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8')
const SNIPPET = /```nginx\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? ''
const NAME = 'panel.example'
const KEY = 'a secret of no less than 32 bytes'

/** Starts nginx with the documented configuration, in front of a store with its console and of a hub. */
async function open() {
  const authority = new Authority('/CN=Servers')
  const { cert, key } = authority.issue(`/CN=${NAME}`)
  let login: Method = () => undefined
  const store = await serve({
    port: 0,
    wsPort: 0,
    trustProxy: true,
    allowedOrigins: [`https://${NAME}`],
    authenticate: firstOf([request => login(request)]),
  })
  const publicUrl = `https://${NAME}/console/`
  const console = await serveConsole(store, { port: 0, publicUrl, brokerUrl: `wss://${NAME}/mqtt` })
  login = console.login
  const hub = await servePubSub({ port: 0, publicUrl: `wss://${NAME}`, authenticate: { key: KEY } })
  onTestFinished(async () => {
    await Promise.all([console.close(), hub.close()])
    await store.close()
  })
  const port = await freePort()
  const http = SNIPPET.replace('443', `127.0.0.1:${port}`)
    .replace(':8080', `:${console.port}`)
    .replace(':8083', `:${new URL(store.wsUrl).port}`)
    .replace(':8081', `:${hub.port}`)
  await runNginx(http, port, { 'cert.pem': cert, 'key.pem': key })
  const secure = { ca: authority.cert, servername: NAME, checkServerIdentity: () => undefined }
  return { store, console, hub, port, secure }
}

describe('nginx in front of store, console and hub', () => {
  it('nginx forwards the console with its page, its API, and client addresses', async () => {
    const { console, port, secure } = await open()
    const ask = (
      path: string,
      headers: Record<string, string>,
    ): Promise<{ status?: number | undefined; text: string; policy: string }> =>
      new Promise((resolve, reject) => {
        request(
          { host: '127.0.0.1', port, path, ...secure, agent: false, headers: { host: NAME, ...headers } },
          answer => {
            const policy = String(answer.headers['content-security-policy'])
            answer
              .toArray()
              .then(
                chunks => resolve({ status: answer.statusCode, text: String(Buffer.concat(chunks)), policy }),
                reject,
              )
          },
        )
          .on('error', reject)
          .end()
      })
    expect(console.link).toBe(`https://${NAME}/console/#token=${console.token}`)
    const events: unknown[] = []
    console.audit$.subscribe(event => events.push(event))
    const page = await ask('/console/', {})
    expect(page.status).toBe(200)
    expect(page.policy).toContain(`connect-src 'self' wss://${NAME}/mqtt`)
    const authorization = `Bearer ${console.token}`
    const facts = await ask('/console/api/store', { authorization, origin: `https://${NAME}` })
    expect(JSON.parse(facts.text)).toMatchObject({ wsUrl: `wss://${NAME}/mqtt` })
    expect(events).toMatchObject([{ event: 'login', outcome: 'accepted', listener: 'console', address: '127.0.0.1' }])
    expect(await ask('/console/api/store', { authorization, origin: 'https://evil.example' })).toMatchObject({
      status: 403,
    })
    expect(await ask('/console/api/store', {})).toMatchObject({ status: 401 })
  })

  it('nginx forwards the broker to pages of the same origin', async () => {
    const { console, port, secure, store } = await open()
    const wsOptions = (origin: string) => ({ ...secure, headers: { host: NAME, origin } })
    const client = connect(`wss://127.0.0.1:${port}/mqtt`, {
      username: 'console',
      password: console.token,
      protocolVersion: 5,
      reconnectPeriod: 0,
      wsOptions: wsOptions(`https://${NAME}`),
    })
    onTestFinished(async () => client.endAsync(true))
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve())
      client.once('close', () => reject(new Error('it was turned away')))
    })
    expect(store.stats.connections).toBe(1)
    const stranger = new WebSocket(`wss://127.0.0.1:${port}/mqtt`, 'mqtt', wsOptions('https://evil.example'))
    const [error] = await once(stranger, 'error')
    expect(String(error)).toContain('403')
  })

  it('nginx forwards a hub under the address for which its tokens are valid', async () => {
    const { hub, port, secure } = await open()
    const { url } = await hub.hub('chat').token({ userId: 'ann' })
    expect(url).toMatch(`wss://${NAME}/client/hubs/chat?access_token=`)
    const { pathname, search } = new URL(url)
    const protocol = 'json.reliable.webpubsub.azure.v1'
    const socket = new WebSocket(`wss://127.0.0.1:${port}${pathname}${search}`, protocol, {
      ...secure,
      headers: { host: NAME },
    })
    onTestFinished(() => socket.terminate())
    const [data] = await once(socket, 'message')
    expect(JSON.parse(String(data))).toMatchObject({ event: 'connected', userId: 'ann' })
  })
})
