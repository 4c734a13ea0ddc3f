import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Credentials, connect, text } from '../../../src/client/index.js'
import type { Authenticate } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const HOUR = 3_600_000

/**
 * Opens a store that accepts all tokens except `wrong`, and a client whose token is valid for an hour of manual time.
 */
async function open() {
  const tokens: string[] = []
  const authenticate: Authenticate = ({ data }) => {
    const token = Buffer.from(data ?? []).toString()
    tokens.push(token)
    return token === 'wrong' ? { refused: 'credentials', reason: 'no' } : { principal: { username: 'alice' } }
  }
  const { store, clock } = await openStore({ authenticate })
  const has: { token: string; expiresAt: number | undefined } = { token: 'first', expiresAt: clock.now() + HOUR }
  let calls = 0
  const credentials = () => {
    calls++
    if (has.token === '') throw new Error('the file is not there')
    if (has.token === 'never') return new Promise<Credentials>(() => undefined)
    return { authentication: { method: 'K8S-SAT', data: Buffer.from(has.token), expiresAt: has.expiresAt } }
  }
  const client = connect(store.url, { clock, clientId: 'c', credentials })
  onTestFinished(async () => client.close())
  await firstValueFrom(client.key('a', text).get())
  const since = store.clients[0]?.since
  const advance = async (ms: number): Promise<void> => {
    const before = calls
    clock.advance(ms)
    await eventually(() => calls > before)
    // A later response proves that the AUTH packet was processed.
    await firstValueFrom(client.key('a', text).get())
  }
  return { store, clock, client, tokens, has, advance, isSame: () => store.clients[0]?.since === since }
}

describe('a client whose token expires', () => {
  it('the client sends newer tokens over the same connection', async () => {
    const { tokens, has, clock, advance, isSame } = await open()
    Object.assign(has, { token: 'second', expiresAt: clock.now() + 3 * HOUR })
    await advance(0.8 * HOUR)
    Object.assign(has, { token: 'third', expiresAt: clock.now() + 6 * HOUR })
    await advance(0.8 * 2.2 * HOUR)
    expect(tokens).toEqual(['first', 'second', 'third'])
    expect(isSame()).toBe(true)
  })

  it('the client does not send an unchanged token, and requests credentials again', async () => {
    const { tokens, has, clock, advance } = await open()
    await advance(0.8 * HOUR)
    expect(tokens).toEqual(['first'])
    Object.assign(has, { token: '' })
    await advance(0.16 * HOUR)
    expect(tokens).toEqual(['first'])
    Object.assign(has, { token: 'second', expiresAt: clock.now() + HOUR })
    await advance(0.04 * HOUR)
    expect(tokens).toEqual(['first', 'second'])
  })

  it('credentials that do not settle within the connect timeout are requested again', async () => {
    const { tokens, has, clock, advance, isSame } = await open()
    Object.assign(has, { token: 'never' })
    await advance(0.8 * HOUR)
    Object.assign(has, { token: 'second', expiresAt: clock.now() + HOUR })
    clock.advance(10_000)
    await advance(0.16 * HOUR)
    expect(tokens).toEqual(['first', 'second'])
    expect(isSame()).toBe(true)
  })

  it('the client reports a failed renewal while the connection continues, and renews later', async () => {
    const { client, has, tokens, clock, advance, isSame } = await open()
    const errors = record(client.errors$)
    Object.assign(has, { token: '' })
    await advance(0.8 * HOUR)
    const message = 'Cannot renew the credentials, which expire in 720 s: the file is not there'
    expect(errors.values).toMatchObject([{ code: 'credentials', message }])
    const { lastError } = await firstValueFrom(client.stats$)
    expect(lastError).toBe(errors.values[0])
    Object.assign(has, { token: 'second', expiresAt: clock.now() + HOUR })
    await advance(0.16 * HOUR)
    expect([tokens, errors.values.length, isSame()]).toEqual([['first', 'second'], 1, true])
  })

  it('the client reports a token that no AUTH packet can hold while the connection continues', async () => {
    const { client, has, tokens, clock, advance, isSame } = await open()
    const errors = record(client.errors$)
    Object.assign(has, { token: 'x'.repeat(65_536), expiresAt: clock.now() + 2 * HOUR })
    await advance(0.8 * HOUR)
    expect(errors.values).toMatchObject([{ code: 'credentials', message: expect.stringContaining('65,535 bytes') }])
    expect([tokens, isSame()]).toEqual([['first'], true])
  })

  it('the client reports an unchanged token once the source had time to renew it', async () => {
    const { client, advance } = await open()
    const errors = record(client.errors$)
    await advance(0.8 * HOUR)
    expect(errors.values).toEqual([])
    await advance(0.16 * HOUR)
    expect(errors.values).toMatchObject([
      { code: 'credentials', message: expect.stringMatching(/in 144 s: `credentials` returned no newer ones/) },
    ])
  })

  it('the client reports no unchanged token that is valid for days', async () => {
    const { client, has, clock, advance } = await open()
    const errors = record(client.errors$)
    Object.assign(has, { token: 'second', expiresAt: clock.now() + 73 * HOUR })
    await advance(0.8 * HOUR)
    await advance(24 * HOUR)
    await advance(24 * HOUR)
    expect(errors.values).toEqual([])
    await advance(20 * HOUR)
    expect(errors.values).toMatchObject([{ code: 'credentials' }])
  })
})
