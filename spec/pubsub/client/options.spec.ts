import { describe, expect, it, onTestFinished } from 'vitest'
import {
  connectPubSub,
  type PubSubClient,
  type PubSubOptions,
  type UrlSource,
} from '../../../src/pubsub/client/index.js'
import { ManualClock } from '../../support/manual-clock.js'

const NOWHERE = 'ws://127.0.0.1:1/client/hubs/h'

function open(url: UrlSource, options: PubSubOptions = {}): PubSubClient {
  const clock = new ManualClock()
  const client = connectPubSub(url, { clock, ...options })
  onTestFinished(async () => {
    const closed = client.close()
    clock.advance(2_000)
    await closed
  })
  return client
}

describe('connectPubSub', () => {
  it.each<readonly [string, UrlSource, PubSubOptions]>([
    ['a URL', NOWHERE, {}],
    ['a function', () => NOWHERE, {}],
    ['a function that returns a promise', async () => NOWHERE, {}],
    ['protobuf', NOWHERE, { protocol: 'protobuf' }],
    ['no retries', NOWHERE, { retries: 0 }],
    ['custom reconnect delays', NOWHERE, { reconnect: { initial: 5, max: 10 } }],
  ])('accepts %s', (_, url, options) => {
    const states: string[] = []
    open(url, options).status$.subscribe(({ state }) => states.push(state))
    expect(states).toEqual(['connecting'])
  })

  it.each(['', 'hub.example', 'https://hub.example', '/client/hubs/h', 'mqtt://h'])('throws for the URL %j', url => {
    expect(() => connectPubSub(url)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it.each<PubSubOptions>([
    { recoveryWindow: 0 },
    { connectTimeout: -1 },
    { keepAlive: Number.NaN },
    { timeout: Number.POSITIVE_INFINITY },
    { maxQueued: 1.5 },
    { retries: -1 },
    { reconnect: { initial: 0 } },
    { reconnect: { max: -1 } },
  ])('throws for %j', options => {
    expect(() => connectPubSub(NOWHERE, options)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('throws for an invalid protocol or strategy', () => {
    const wrong = [
      JSON.parse('{"protocol":"xml"}'),
      JSON.parse('{"reconnectStrategy":7}'),
      JSON.parse('{"protocol":"constructor"}'),
      ...['null', '5', '{"clock":{}}', '{"clock":null}', '{"reconnect":null}', '{"reconnect":5}'].map(text =>
        JSON.parse(text),
      ),
    ]
    for (const options of wrong) {
      expect(() => connectPubSub(NOWHERE, options)).toThrow(expect.objectContaining({ code: 'argument' }))
    }
  })
})
