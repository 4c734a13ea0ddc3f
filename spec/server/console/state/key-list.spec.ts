import { BehaviorSubject, NEVER, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { KEY_PAGE_SIZE, type KeyList, listKeys } from '../../../../console/src/state/key-list.js'
import { systemClock } from '../../../../src/client/index.js'
import { openClient, type Recording, record } from '../../../support/open-client.js'
import { openStore } from '../../../support/open-store.js'

/** Opens the list of a store with the given keys. Also returns the subjects that trigger a new listing. */
async function listOf(names: readonly string[]) {
  const { store } = await openStore({ clock: systemClock })
  await store.load(names.map(key => ({ key, value: '1' })))
  const glob$ = new BehaviorSubject('*')
  const keyspace$ = new BehaviorSubject('1')
  const most$ = new BehaviorSubject(KEY_PAGE_SIZE)
  const lists = record(listKeys(of(openClient(store.wsUrl)), glob$, keyspace$, most$))
  return { store, glob$, keyspace$, most$, lists }
}

const last = ({ values }: Recording<KeyList>): KeyList | undefined => values.at(-1)
const names = (list: KeyList | undefined): string => (list?.keys ?? []).map(({ name }) => name).join(' ')

describe('The list of keys', () => {
  it('the list contains all matching keys, sorted by name', async () => {
    const { lists, glob$ } = await listOf(['line-10', 'line-2', 'asset/1'])
    await lists.until(recorded => last(recorded)?.state === 'listed')
    expect(last(lists)).toMatchObject({ glob: '*', more: false })
    expect(names(last(lists))).toBe('asset/1 line-2 line-10')
    glob$.next('line*')
    await lists.until(recorded => last(recorded)?.glob === 'line*' && last(recorded)?.state === 'listed')
    expect(names(last(lists))).toBe('line-2 line-10')
  })

  it('the list is refreshed when keys change, and shows the old keys until then', async () => {
    const { lists, store, keyspace$ } = await listOf(['a'])
    await lists.until(recorded => last(recorded)?.state === 'listed')
    await store.load([{ key: 'b', value: '1' }])
    keyspace$.next('2')
    await lists.until(recorded => names(last(recorded)) === 'a b')
    expect(lists.values.slice(1).every(({ state, keys }) => state === 'listed' && keys.length > 0)).toBe(true)
  })

  it('the list is limited, reports that more keys match, and grows on request', async () => {
    const { lists, most$ } = await listOf(Array.from({ length: KEY_PAGE_SIZE + 5 }, (_, i) => `key ${i}`))
    await lists.until(recorded => last(recorded)?.state === 'listed')
    expect(last(lists)?.keys).toHaveLength(KEY_PAGE_SIZE)
    expect(last(lists)?.more).toBe(true)
    const before = lists.values.length
    most$.next(2 * KEY_PAGE_SIZE)
    await lists.until(recorded => last(recorded)?.more === false)
    expect(last(lists)?.keys).toHaveLength(KEY_PAGE_SIZE + 5)
    expect(lists.values.slice(before).every(({ keys }) => keys.length >= KEY_PAGE_SIZE)).toBe(true)
  })

  it('a failed listing reports the reason and is retried', { tags: 'slow' }, async () => {
    const { lists, glob$ } = await listOf(['a'])
    await lists.until(recorded => last(recorded)?.state === 'listed')
    glob$.next('x'.repeat(1_025))
    await lists.until(recorded => last(recorded)?.state === 'failed')
    expect(last(lists)?.problem?.title).toBe('Invalid request')
    const failures = lists.values.length
    await lists.until(recorded => recorded.values.length > failures)
    glob$.next('a')
    await lists.until(recorded => names(last(recorded)) === 'a')
  })

  it('no keys are listed before the keyspace is known', async () => {
    const { store } = await openStore({ clock: systemClock })
    const lists = record(listKeys(of(openClient(store.wsUrl)), of('*'), NEVER))
    expect(lists.values).toEqual([])
  })
})
