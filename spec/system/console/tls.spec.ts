import { request } from 'node:https'
import { expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { openConsole } from '../../server/console/open-console.js'

const authority = new Authority('/CN=Servers')

/** Returns the subject of the server's certificate, and the response. */
const ask = (url: string, token: string, ca: string): Promise<{ status: number | undefined; policy: string }> =>
  new Promise((resolve, reject) => {
    const options = { ca, agent: false, headers: { authorization: `Bearer ${token}` } }
    request(new URL('api/facts', url), options, answer => {
      answer.resume()
      resolve({ status: answer.statusCode, policy: String(answer.headers['content-security-policy']) })
    })
      .on('error', reject)
      .end()
  })

it('The console serves TLS, lets its page reach the broker, and renews its certificate', async () => {
  const tls = authority.issue('/CN=localhost')
  const { server, store } = await openConsole({ tls, serve: { tls } })
  expect(server.link).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/#token=/)
  const { status, policy } = await ask(server.url, server.token, authority.cert)
  expect(status).not.toBe(401)
  expect(policy).toContain(`connect-src 'self' ${store.wsUrl}`)
  const other = new Authority('/CN=Others')
  server.setTls(other.issue('/CN=localhost'))
  await expect(ask(server.url, server.token, authority.cert)).rejects.toThrow(/certificate/)
  expect(await ask(server.url, server.token, other.cert)).toMatchObject({ status })
})
