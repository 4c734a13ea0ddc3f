import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { Authority } from '../../../../harness/certificates.js'
import { servePubSub } from '../../../../src/pubsub/hub/index.js'

const authority = new Authority('/CN=Servers')

it('A hub serves TLS and can replace its certificate', async () => {
  const server = await servePubSub({ port: 0, authenticate: 'anonymous', tls: authority.issue('/CN=localhost') })
  onTestFinished(async () => server.close())
  const { url } = server.hub('panel')
  expect(url).toMatch(/^wss:\/\/127\.0\.0\.1:\d+\/client\/hubs\/panel$/)
  const connect = async (ca: string): Promise<unknown> => {
    const socket = new WebSocket(url, 'json.reliable.webpubsub.azure.v1', { ca })
    onTestFinished(() => socket.terminate())
    const [message] = await once(socket, 'message')
    return JSON.parse(String(message))
  }
  expect(await connect(authority.cert)).toMatchObject({ event: 'connected' })
  const other = new Authority('/CN=Others')
  server.setTls(other.issue('/CN=localhost'))
  await expect(connect(authority.cert)).rejects.toThrow(/certificate/)
  expect(await connect(other.cert)).toMatchObject({ event: 'connected' })
})

it('a hub without TLS rejects a certificate', async () => {
  const server = await servePubSub({ port: 0, authenticate: 'anonymous' })
  onTestFinished(async () => server.close())
  expect(() => server.setTls(authority.issue('/CN=localhost'))).toThrow(/without TLS/)
  await expect(servePubSub({ authenticate: 'anonymous', tls: { cert: 'x', key: 'y' } })).rejects.toMatchObject({
    code: 'argument',
  })
})
