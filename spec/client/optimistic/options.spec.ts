import { lastValueFrom, NEVER, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, text } from '../../../src/client/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { fakeStore } from '../../support/operator-session.js'

const { store } = fakeStore(() => NEVER)
const key = store.key('k', text)
const storage = { load: () => of(undefined), save: () => of(0), remove: () => of(true) }

describe('options of optimistic', () => {
  it.each([
    [{ conflict: 'first' }, "Expected `conflict` to be 'last', 'refuse' or a function, got `first`"],
    [{ offline: 'queue' }, "Expected `offline` to be 'drop', 'latest', 'ask' or 'cas', got `queue`"],
    [{ offline: 'latest', supersede: 'older' }, "Expected `supersede` to be 'newer' or 'never'"],
    [{ offline: 'cas', supersede: 'newer' }, "`supersede` requires `offline: 'latest'`"],
    [{ offline: 'latest', maxAge: 0 }, 'Expected `maxAge` to be a positive integer'],
    [{ offline: 'ask' }, 'Expected `ask` to be a function'],
    [{ offline: 'cas', ask: () => [true] }, "`ask` requires `offline: 'ask'`"],
    [{ offline: 'drop', storage }, '`storage` and `maxAge` need'],
    [{ maxAge: 1_000 }, '`storage` and `maxAge` need'],
    [{ offline: 'latest', storage: { load: () => [] } }, 'Expected `storage` to have a method `save`'],
    [{ persist: 'yes' }, 'Expected `persist` to be true or false'],
    [{ merge: () => 'a' }, 'Unknown option `merge` of optimistic: did you mean `conflict`?'],
    [{ offlin: 'drop' }, 'did you mean `offline`?'],
  ])('the options %o are rejected', (options, message) => {
    // @ts-expect-error some of them do not compile
    expect(() => optimistic(key, options)).toThrow(message)
  })

  it('a first argument that is not a key is rejected', () => {
    // @ts-expect-error a name is not a key
    expect(() => optimistic('k')).toThrow('Expected a key of a store, got `k` (string)')
  })

  it('expiresIn, persist and timeout apply to every write', async () => {
    const { store, session } = fakeStore(({ verb }) => (verb === 'SET' ? of('v') : NEVER))
    const view = optimistic(store.key('k', text), { expiresIn: 5_000, persist: true, timeout: 3_000 })
    await lastValueFrom(view.set('a'))
    expect(session.requests.filter(({ verb }) => verb === 'SET')).toEqual([
      expect.objectContaining({ rest: ['a', 'PX', '5000'], expiry: 3 }),
    ])
  })
})

describe('ifVersion', () => {
  it('a write with ifVersion requires exactly this version', async () => {
    const { store, session } = fakeStore(() => of(':-1'))
    const { applied } = await store.key('n', number).set(1, { ifVersion: '12:3:S' })
    expect([applied, session.requests.at(-1)?.rest]).toEqual([false, ['1', 'IFVER', '12:3:S']])
  })

  it('set rejects an ifVersion that is not a version or comes with another condition', async () => {
    const n = store.key('n', number)
    await expect(n.set(1, { ifVersion: '12' })).rejects.toThrow('Expected `ifVersion` to be a version such as')
    await expect(n.set(1, { ifVersion: '12:3:S', ifAbsent: true })).rejects.toThrow(
      'Expected one of `ifAbsent` and `ifVersion`, got both',
    )
  })
})
