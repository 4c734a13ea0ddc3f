import { describe, expect, it } from 'vitest'
import { openConsole, rawRequest } from '../../server/console/open-console.js'
import { RawSocket } from '../../support/raw-socket.js'

const HALF = 'GET / HTTP/1.1\r\nhost: localhost\r\nx: '
const WAITING = {
  'no data sent': '',
  'half a request head': HALF,
  'half a request body, without the token': `POST /api/load HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n{`,
}

describe('The connection limit of the console', () => {
  it.each(Object.entries(WAITING))(
    'the console responds to new connections while 400 connections wait with %s',
    async (_, text) => {
      const open = await openConsole()
      const slow = Array.from({ length: 400 }, async () => {
        const raw = await RawSocket.open(open.server.url)
        await raw.send(text)
      })
      await Promise.all(slow)
      expect((await open.callApi('api/store')).status).toBe(200)
      expect((await rawRequest(open, '/')).status).toBe(200)
    },
  )

  it('connections that have shown the token survive any number of later connections', async () => {
    const open = await openConsole()
    const stream = await fetch(new URL('api/stream', open.server.url), {
      headers: { authorization: `Bearer ${open.server.token}` },
    })
    const reader = stream.body?.getReader()
    await reader?.read()
    for (let n = 0; n < 300; n++) await RawSocket.open(open.server.url)
    open.clock.advance(1_000)
    expect((await reader?.read())?.done).toBe(false)
    await reader?.cancel()
  })
})
