import { join } from 'node:path'
import { firstValueFrom, map } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { type Entry, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'
import { ManualClock } from '../../support/manual-clock.js'
import { found, marbleStore } from '../../support/marble-store.js'
import { marbleTest } from '../../support/marble-test.js'
import { openAttached } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const reasonOf = (entry: Entry<unknown>): string =>
  entry.op === 'set' || entry.op === 'invalid' ? entry.op : `${entry.op}: ${entry.reason}`

interface Place {
  readonly url: string
  readonly clock: ManualClock
}

async function broker(options: { readonly data?: string } = {}): Promise<Place> {
  const { store, clock } = await openStore(options)
  return { url: store.url, clock }
}

const directory = async (): Promise<Place> => broker({ data: join(temporaryFolder(), 'state') })

async function attached(): Promise<Place> {
  const url = `mqtt://127.0.0.1:${(await openBroker()).port}`
  const clock = new ManualClock()
  await openAttached(url, { clock })
  return { url, clock }
}

describe.each([
  ['a store with its broker', broker],
  ['a store with a directory', directory],
  ['a store attached to a broker', attached],
])('%s', (_, open) => {
  it('watches of a key and of a glob emit whether the key was deleted or expired', async () => {
    const { url, clock } = await open()
    const client = openClient(url, { clock })
    const key = client.key('a/1', text)
    const watches = [record(key.entries$), record(matching(client, 'a/*', text).entries$)]
    const seen = async (count: number): Promise<string[][]> =>
      Promise.all(
        watches.map(async watch => {
          await watch.until(({ values }) => values.filter(({ op }) => op !== 'absent').length >= count)
          return watch.values.filter(({ op }) => op !== 'absent').map(reasonOf)
        }),
      )
    await key.set('v')
    await seen(1)
    await key.delete()
    await key.set('v', { expiresIn: 5_000 })
    await seen(3)
    clock.advance(5_000)
    const all = ['set', 'delete: deleted', 'set', 'delete: expired']
    expect(await seen(4)).toEqual([all, all])
    expect(await firstValueFrom(key.get())).toMatchObject({ op: 'absent', reason: 'unknown' })
  })
})

describe('the reason of a deletion that a watch emits', () => {
  const opened = (m: Parameters<typeof marbleStore>[0], gone: () => boolean) => {
    const { session, store } = marbleStore(m, ({ verb }) =>
      m.cold('10ms a', {
        a:
          verb === 'GET'
            ? found(gone() ? undefined : { value: 'v', version: 1 }, 9)
            : { payload: '+OK\r\n', properties: { __stat: '200' } },
      }),
    )
    session.connect()
    m.scheduler.schedule(() => void store.close(), 1_000)
    return { session, entries$: store.key('k', text).entries$.pipe(map(reasonOf)) }
  }
  const set = 'set'

  it.each([
    ['expired', { gone: 'expired' }],
    ['deleted', { gone: 'deleted' }],
    ['unknown, if the store sends no reason', 'delete'],
    ['unknown, if the store sends a reason that is not defined', { gone: 'evicted' }],
  ] as const)('the reason of a deletion is %s', (words, change) => {
    marbles(m => {
      const { session, entries$ } = opened(m, () => false)
      m.scheduler.schedule(() => session.notify('k', change, 2), 50)
      const gone = `delete: ${words.split(',')[0]}`
      m.expect(entries$, '400ms !').toBeObservable('20ms s 29ms d', { s: set, d: gone })
    })()
  })

  marbleTest('the reason is unknown if a read after a reconnect does not find the key', m => {
    let gone = false
    const { session, entries$ } = opened(m, () => gone)
    m.scheduler.schedule(() => {
      session.disconnect(new ConnectionLostError())
      gone = true
    }, 50)
    m.scheduler.schedule(() => session.connect(), 100)
    m.expect(entries$, '400ms !').toBeObservable('20ms s 99ms a', { s: set, a: 'absent: unknown' })
  })
})
