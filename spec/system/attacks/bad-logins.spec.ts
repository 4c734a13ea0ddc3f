import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { AccessTokens } from '../../../src/pubsub/hub/tokens.js'
import { JSON_PROTOCOL } from '../../pubsub/support/raw-pubsub-client.js'
import { connect, PROPERTY, properties } from '../../support/packets.js'
import { AUDIENCE, SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const [CONNACK, ACCEPTED, BAD_CREDENTIALS, RATE] = [0x20, 0, 0x86, 0x9f]
const GUESSES = 200
/** Innocent clients from the same address. */
const CLIENTS = 119
const TO_THE_END = { mustComplete: true, isSlowdownJudged: true }

/** The number of concurrent connections. */
const BATCH = 20

async function runInBatches<T>(count: number, task: (n: number) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = []
  for (let first = 0; first < count; first += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - first) }, async (_, n) => task(first + n))
    results.push(...(await Promise.all(batch)))
  }
  return results
}

it('Failed logins from an address do not delay valid tokens from the same address', { timeout: 60_000 }, async () => {
  const [ours, foreign] = [await generateKeyPair('ES256', { extractable: true }), await generateKeyPair('ES256')]
  const jwks = JSON.stringify({ keys: [await exportJWK(ours.publicKey)] })
  const sign = async (key: Parameters<SignJWT['sign']>[0]): Promise<string> => {
    const claims = new SignJWT({ sub: 'mallory', aud: AUDIENCE }).setProtectedHeader({ alg: 'ES256' })
    return claims.setExpirationTime('1h').sign(key)
  }
  const scene = await openScene({ policy: SOME_RIGHTS, jwks })
  await scene.runAttack(async () => {
    const login = async (options: Parameters<typeof connect>[1]): Promise<number | undefined> => {
      const client = await scene.connect(connect('', options))
      const [type, , , code] = client.last
      client.hangUp()
      return type === CONNACK ? code : undefined
    }
    const { authenticationMethod, authenticationData } = PROPERTY
    const withToken = async (token: string): Promise<number | undefined> =>
      login({ properties: properties(authenticationMethod('K8S-SAT'), authenticationData(token)) })
    const [good, bad] = [await sign(ours.privateKey), await sign(foreign.privateKey)]
    const guess = async (n: number) => login({ username: `user-${n}`, password: 'guess' })
    await runInBatches(GUESSES, guess)
    expect(await guess(0)).toBe(RATE)
    const [guesses, wrong, codes] = await Promise.all([
      runInBatches(GUESSES, guess),
      runInBatches(GUESSES, async () => withToken(bad)),
      runInBatches(CLIENTS, async () => withToken(good)),
    ])
    // After a pause, one more attempt is checked.
    expect(guesses.filter(code => code !== RATE && code !== BAD_CREDENTIALS)).toEqual([])
    expect(new Set(wrong)).toEqual(new Set([BAD_CREDENTIALS]))
    expect(new Set(codes)).toEqual(new Set([ACCEPTED]))
  }, TO_THE_END)
})

it('Invalid tokens from an address do not delay valid tokens at a hub', { timeout: 60_000 }, async () => {
  const key = 'k'.repeat(32)
  const scene = await openScene({ hub: { key } })
  const { hub } = scene.store.addresses
  const sign = async (secret: string): Promise<string> =>
    new AccessTokens(secret).sign('http://hub.example/client/hubs/chat', { userId: 'ann' }, Date.now())
  const login = async (token: string): Promise<number | undefined> => {
    const headers = { 'x-forwarded-for': '192.0.2.1' }
    const socket = new WebSocket(`${hub}/client/hubs/chat?access_token=${token}`, [JSON_PROTOCOL], { headers })
    return new Promise<number | undefined>((resolve, reject) => {
      socket.once('open', () => resolve(101))
      socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode))
      socket.once('error', reject)
    }).finally(() => socket.terminate())
  }
  await scene.runAttack(async () => {
    const [good, bad] = [await sign(key), await sign('x'.repeat(32))]
    const [wrong, right] = await Promise.all([
      runInBatches(GUESSES, async () => login(bad)),
      runInBatches(CLIENTS, async () => login(good)),
    ])
    expect(new Set(wrong)).toEqual(new Set([401]))
    expect(new Set(right)).toEqual(new Set([101]))
  }, TO_THE_END)
})
