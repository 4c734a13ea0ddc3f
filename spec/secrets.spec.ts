import { inspect } from 'node:util'
import { catchError, lastValueFrom, of, take, takeUntil, timer, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { withoutCredentials } from '../src/cli/credentials.js'
import { type ConnectOptions, connect, number } from '../src/client/index.js'
import { settingsFromEnv } from '../src/node/settings.js'
import { connectPubSub } from '../src/pubsub/client/index.js'
import { servePubSub } from '../src/pubsub/hub/index.js'
import { serveConsole } from '../src/server/console/index.js'
import { attach, firstOf, Tokens } from '../src/server/index.js'
import { jetStreamLog } from '../src/server/log/jetstream/index.js'
import { execute } from './cli/test-io.js'
import { listen } from './support/diagnostics.js'
import { openStore } from './support/open-store.js'
import { openTelemetry } from './support/open-telemetry.js'

const SECRET = 'm4rked-s3cret'
/** No server listens on this port. */
const CLOSED = '127.0.0.1:1'

/** Returns all texts of a value, such as the message, stack, properties and causes of an error. */
const textsOf = (value: unknown): string => inspect(value, { depth: 10, showHidden: true, maxStringLength: null })

async function caught(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error
  }
}

const INVALID_URLS = [
  `mqtt://user:${SECRET}@a,mqtt://user:${SECRET}@b`,
  `http://user:${SECRET}@localhost`,
  `mqtt://user:${SECRET}@localhost:188300`,
  `mqtt://user:${SECRET}/x@localhost:1883`,
  `mqtt://user:${SECRET}`,
  `ws://localhost:99999/?token=${SECRET}`,
  `mqtt://user:${SECRET}%ff@localhost`,
  `user:${SECRET}@localhost`,
]

describe('no secret appears in', () => {
  it.each(INVALID_URLS)('the error for an invalid address: %s', async url => {
    const errors = [
      await caught(() => connect(url)),
      await caught(() => connect([url, 'mqtt://localhost'])),
      await caught(() => connect({ url })),
      await caught(() => attach(url)),
      await caught(() => connectPubSub(url.replace(/^mqtt|^ws/, 'http'))),
      await caught(async () => servePubSub({ port: 0, authenticate: { key: SECRET.repeat(3) }, publicUrl: url })),
      await caught(() => new Tokens({ jwks: url.replace('http:', 'ftp:'), audiences: ['a'] })),
      await caught(async () => serveConsole((await openStore()).store, { port: 0, brokerUrl: url })),
      await caught(() => jetStreamLog({ servers: [url, ''] })),
    ]
    for (const error of errors) expect(error).toMatchObject({ code: 'argument' })
    expect(textsOf(errors)).not.toContain(SECRET)
  })

  it('errors for invalid certificates, keys and user names', async () => {
    const pem = { cert: SECRET, key: SECRET, keyPassphrase: SECRET }
    const errors = [
      await caught(() => connect(`mqtts://user:${SECRET}@${CLOSED}`, pem)),
      await caught(() => connect(`mqtts://${CLOSED}`, { password: SECRET, clientId: '+' })),
      await caught(() => settingsFromEnv({ AIO_BROKER_HOSTNAME: `user:${SECRET}@h` })),
    ]
    expect(textsOf(errors.slice(0, 2))).not.toContain(SECRET)
  })

  it.each<[string, (url: string) => readonly [string, ConnectOptions]]>([
    ['an unreachable broker', () => [`ws://user:${SECRET}@${CLOSED}/mqtt?token=${SECRET}#${SECRET}`, {}]],
    ['a broker that refuses the login', url => [url.replace('//', `//user:${SECRET}@`), { password: SECRET }]],
    [
      'credentials that TLS rejects',
      () => [`mqtts://${CLOSED}`, { credentials: () => ({ cert: SECRET, key: SECRET, keyPassphrase: SECRET }) }],
    ],
  ])('the status, errors, events and spans of a client with %s', async (_, target) => {
    const events = [listen('rx-statestore:connection'), listen('tracing:rx-statestore:request:end')]
    const telemetry = openTelemetry()
    const { url } = (await openStore({ authenticate: firstOf([]) })).store
    const [address, options] = target(url)
    const store = connect(address, { ...options, timeout: 50, reconnect: { initial: 5, max: 5 } })
    const seen = lastValueFrom(
      store.status$.pipe(
        take(4),
        takeUntil(timer(2_000)),
        toArray(),
        catchError((error: unknown) => of(error)),
      ),
    )
    const error = await caught(() => store.key('k', number).get())
    expect(error).toBeInstanceOf(Error)
    const texts = textsOf([
      await seen,
      error,
      events,
      telemetry.spans().map(({ name, attributes }) => [name, attributes]),
    ])
    await store.close()
    expect(texts).toMatch(/reconnecting|closed/)
    expect(texts).not.toContain(SECRET)
  })

  it.each([
    ['an unreachable hub', `ws://${CLOSED}/client/hubs/h?access_token=${SECRET}`],
    ['an address that the platform rejects', `ws://${CLOSED}/client/hubs/h?access_token=${SECRET}#${SECRET}`],
    ['an address of another scheme', `http://${CLOSED}/?access_token=${SECRET}`],
  ])('the status and errors of a pub/sub client with %s', async (_, url) => {
    const client = connectPubSub(async () => url, { reconnect: { initial: 5, max: 5 } })
    const status = await lastValueFrom(client.status$.pipe(take(4), takeUntil(timer(2_000)), toArray()))
    await client.close()
    expect(textsOf(status)).toContain('disconnected')
    expect(textsOf(status)).not.toContain(SECRET)
  })

  it.each([
    ['get', 'k', '--timeout', '50ms', '--url', `mqtt://user:${SECRET}@${CLOSED}`],
    ['get', 'k', '--timeout', '50ms', '--url', `ws://${CLOSED}/mqtt?token=${SECRET}`],
    ['get', 'k', '--url', `mqtt://user:${SECRET}/@${CLOSED}`],
    ['probe', `mqtt://user:${SECRET}@${CLOSED}`, '--timeout', '50ms'],
    ['attach', `mqtt://user:${SECRET}@localhost:188300`],
    ['attach', `mqtt://user:${SECRET}@${CLOSED}`, '--check-config'],
    ['serve', '--check-config', '--log', `nats://user:${SECRET}@${CLOSED}`],
    ['serve', '--check-config', '--jwks', `http://user:${SECRET}@example.com`, '--audience', 'a'],
  ])('the output of a command: %s %s %s %s %s', async (...args) => {
    const { stdout, stderr } = await execute(args)
    expect(`${stdout}${stderr}`).not.toBe('')
    expect(`${stdout}${stderr}`).not.toContain(SECRET)
    expect(withoutCredentials(`${stdout}${stderr}`)).toBe(`${stdout}${stderr}`)
  })
})
