import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { serveConsole } from '../../../src/server/console/index.js'
import { RawPubSubClient } from '../../pubsub/support/raw-pubsub-client.js'
import { openStore } from '../../support/open-store.js'

/** Starts an application server that answers requests itself, with a console and a hub attached. */
async function open() {
  const { store } = await openStore()
  const app = createServer((_, response) => response.end('the app'))
  app.on('upgrade', (_, stream) => stream.end('HTTP/1.1 418 A socket of the app\r\ncontent-length: 0\r\n\r\n'))
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  const console = await serveConsole(store, { server: app })
  const hub = await servePubSub({ server: app, authenticate: 'anonymous' })
  onTestFinished(async () => {
    await Promise.all([console.close(), hub.close()])
    app.close()
    app.closeAllConnections()
  })
  const url = `http://127.0.0.1:${console.port}`
  const get = async (path: string, headers = {}) => {
    const answer = await fetch(url + path, { headers })
    return `${answer.status} ${await answer.text()}`
  }
  return { app, console, hub, get, ws: url.replace('http', 'ws') }
}

describe('A console and a hub on a given server', () => {
  it('handle only requests below their paths', async () => {
    const { console, get, hub, ws } = await open()
    expect(await get('/')).toBe('200 the app')
    expect(await get('/consoles')).toBe('200 the app')
    expect(await get('/console/api/store')).toMatch(/^401 /)
    expect(await get('/console/api/store', { authorization: `Bearer ${console.token}` })).toMatch(/^200 /)
    expect(console.url).toMatch(/\/console\/$/)
    const answer = await fetch(console.url.slice(0, -1), { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '/console/'])
    expect(hub.url).toBe(ws)
    await RawPubSubClient.connect(`${ws}/client/hubs/chat`)
    await expect(RawPubSubClient.open(`${ws}/other`)).rejects.toThrow('418')
  })

  it('leave the server unchanged after they are closed', async () => {
    const { console, hub, get, ws } = await open()
    await Promise.all([console.close(), hub.close()])
    expect(await get('/console/')).toBe('200 the app')
    await expect(RawPubSubClient.open(`${ws}/client/hubs/chat`)).rejects.toThrow('418')
  })

  it('answer 404 when the server has no other handler', async () => {
    const { store } = await openStore()
    const bare = createServer()
    const console = await serveConsole(store, { server: bare })
    const hub = await servePubSub({ server: bare, authenticate: 'anonymous' })
    bare.listen(0, '127.0.0.1')
    await once(bare, 'listening')
    onTestFinished(async () => {
      await Promise.all([console.close(), hub.close()])
      bare.close()
    })
    expect((await fetch(`http://127.0.0.1:${console.port}/`)).status).toBe(404)
    await expect(RawPubSubClient.open(`ws://127.0.0.1:${console.port}/other`)).rejects.toThrow('404')
  })

  it.each([
    ['path', { path: 'console' }],
    ['publicUrl', { publicUrl: 'panel.example' }],
    ['brokerUrl', { brokerUrl: 'https://panel.example' }],
  ])('reject an invalid %s', async (name, options) => {
    const { store } = await openStore()
    await expect(serveConsole(store, { server: createServer(), ...options })).rejects.toThrow(`\`${name}\``)
  })

  it('reject an unknown option', async () => {
    const { store } = await openStore()
    const options = { server: createServer(), publicURL: 'https://panel.example' }
    await expect(serveConsole(store, options)).rejects.toThrow('did you mean `publicUrl`?')
  })
})
