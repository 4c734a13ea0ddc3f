import { describe, expect, it } from 'vitest'
import { systemClock, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { openClient, record } from '../../support/open-client.js'
import { as, now, openSecured } from '../../support/secured.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const ADMINISTRATIVE = 0x98

const policyOf = (...readable: readonly string[]): string => `
- principals: { usernames: [reader] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: Read, keyType: Pattern, keys: ${JSON.stringify(readable)} }]
- principals: { usernames: [writer] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["*"] }]`

async function open(policy: string) {
  const { store, clock } = await openSecured({ policy, notifications: 'registered' })
  const [reader, writer] = await Promise.all(
    ['reader', 'writer'].map(user => StoreClient.ready(store.url, user, as(user))),
  )
  if (reader === undefined || writer === undefined) throw new Error('nobody came')
  const set = (key: string) => writer.request(command(`SET ${key} v`), now(clock))
  return { store, reader, set }
}

describe('a watched glob with a policy', () => {
  it('a watched glob notifies its client of readable keys, and other keys cause no audit entries', async () => {
    const { store, reader, set } = await open(policyOf('line-1/*'))
    const refusals = record(store.audit$)
    expect((await reader.request(command('GLOBNOTIFY *'))).text).toBe('+OK\r\n')
    for (const key of ['line-2/a', 'line-1/a', 'secret']) await set(key)
    await reader.arrived(1)
    expect(refusals.values).toEqual([])
    await reader.settled()
    expect(reader.inbox).toHaveLength(1)
  })

  it('a watched glob is empty for a client without read access', async () => {
    const { reader, set } = await open(policyOf())
    expect((await reader.request(command('GLOBNOTIFY *'))).text).toBe('+OK\r\n')
    await set('a')
    await reader.settled()
    expect(reader.inbox).toEqual([])
  })

  it("replacing the policy ends a watched glob's connection, even if it grants more", async () => {
    const { store, reader } = await open(policyOf('line-1/*'))
    await reader.request(command('GLOBNOTIFY *'))
    store.reload({ policy: policyOf('line-1/*', 'line-2/*') })
    expect(await reader.dismissed()).toBe(ADMINISTRATIVE)
  })

  it.each([
    ['is replaced by the same policy', policyOf('line-1/*')],
    ['lists a pattern of keys twice', policyOf('line-1/*', 'line-1/*')],
    ['changes for other clients only', policyOf('line-1/*').replace('keys: ["*"]', 'keys: ["line-1/*"]')],
  ])('a watched glob keeps its connection when the policy %s', async (_, policy) => {
    const { store, reader, set } = await open(policyOf('line-1/*'))
    await reader.request(command('GLOBNOTIFY *'))
    store.reload({ policy })
    await set('line-1/a')
    await reader.arrived(1)
  })

  it('a watched glob keeps its connection when only the right to write is added', async () => {
    const { store, reader } = await open(policyOf('line-1/*'))
    await reader.request(command('GLOBNOTIFY *'))
    store.reload({ policy: policyOf('line-1/*').replace('method: Read,', 'method: ReadWrite,') })
    expect((await reader.request(command('GET line-1/a'))).text).toBe('$-1\r\n')
  })

  it.each([
    ['String', 'line-1'],
    ['Binary', 'bGluZS0x'],
  ])('a watched glob ends with its connection when the same text becomes a key of type %s', async (keyType, key) => {
    const policy = policyOf(key)
    const { store, reader } = await open(policy)
    await reader.request(command('GLOBNOTIFY *'))
    store.reload({ policy: policy.replace('Pattern', keyType) })
    expect(await reader.dismissed()).toBe(ADMINISTRATIVE)
  })

  it("a watched glob follows changes of its client's rights", async () => {
    const { store } = await openSecured({ policy: policyOf('a/*', 'b/*'), clock: systemClock })
    const client = (user: string) => openClient(store.url, { clientId: user, ...as(user) })
    const [reader, writer] = [client('reader'), client('writer')]
    for (const key of ['a/1', 'b/1', 'c/1']) await writer.set(key, 'v', text)
    const keys = record(matching(reader, '*', text).map$)
    const shown = (): string =>
      Array.from(keys.values.at(-1)?.keys() ?? [])
        .sort()
        .join(' ')
    await keys.until(() => shown() === 'a/1 b/1')
    store.reload({ policy: policyOf('a/*', 'c/*') })
    await keys.until(() => shown() === 'a/1 c/1')
    await writer.set('b/2', 'v', text)
    await writer.set('c/2', 'v', text)
    await keys.until(() => shown() === 'a/1 c/1 c/2')
  })
})
