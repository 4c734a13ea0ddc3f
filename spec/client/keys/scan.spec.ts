import { concatMap, firstValueFrom, lastValueFrom, map, mergeMap, of, take, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import {
  bytes,
  ConnectionLostError,
  escapeGlob,
  json,
  Key,
  type Scan,
  systemClock,
  text,
} from '../../../src/client/index.js'
import { fenced } from '../../../src/client/lease/index.js'
import { layLink } from '../../support/link.js'
import { marbleTest } from '../../support/marble-test.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { type Answer, fakeStore, type Script } from '../../support/operator-session.js'

const NAMES = ['asset/1', 'asset/2', 'thermostat1\\setPoint', 'line*', '\u00e4']
const BINARY = Uint8Array.of(0xff, 0x00)

async function open() {
  const { store } = await openStore({ clock: systemClock })
  const client = openClient(store.url)
  for (const name of NAMES) await firstValueFrom(client.set(name, `"${name.length}"`, text))
  return { store, client }
}

function pageWith(keys: readonly string[], token?: string): Answer {
  const list = `*${keys.length}\r\n${keys.map(key => `$${key.length}\r\n${key}\r\n`).join('')}`
  return { payload: token === undefined ? `*1\r\n${list}` : `*2\r\n${list}$${token.length}\r\n${token}\r\n` }
}

const PAGES = [pageWith(['a', 'b'], 'one'), pageWith([], '\x00\xff'), pageWith(['c', 'd'], 'three'), pageWith(['e'])]
const paged: Script = (_, nth) => of(PAGES[nth] ?? pageWith([]))
const tokens = ({ requests }: ReturnType<typeof fakeStore>['session']) => requests.map(({ rest }) => rest)
const names = map((key: Key<unknown>) => key.name)

describe('store.scan', () => {
  it('a scan emits matching keys as handles, including binary keys and wildcard characters', async () => {
    const { client } = await open()
    await firstValueFrom(client.key(BINARY, bytes).set(Uint8Array.of(7)))
    const all = await lastValueFrom(client.scan().pipe(toArray()))
    expect(all.map(key => key.name).sort()).toEqual([...NAMES, '0xFF00'].sort())
    expect(all.every(key => key instanceof Key)).toBe(true)
    const binary = all.find(key => key.id === 'FF00')
    expect(binary?.bytes).toEqual(BINARY)
    expect(binary && (await firstValueFrom(binary.get())).value).toEqual(Uint8Array.of(7))
  })

  it('a glob may be text or bytes, and the emitted keys read with the codec of the scan', async () => {
    const { client } = await open()
    const read$ = client.scan('asset/?', json<string>()).pipe(
      mergeMap(key => key.get(), 2),
      toArray(),
    )
    expect((await lastValueFrom(read$)).map(({ key, value }) => [key, value]).sort()).toEqual([
      ['asset/1', '7'],
      ['asset/2', '7'],
    ])
    expect(await lastValueFrom(client.scan(Uint8Array.of(0xc3, 0xa4), text).pipe(names, toArray()))).toEqual(['\u00e4'])
    expect(await lastValueFrom(client.scan('nothing').pipe(toArray()))).toEqual([])
    const entries$ = client.scan('asset/*').pipe(
      mergeMap(key => client.get(key.bytes, text)),
      toArray(),
    )
    expect((await lastValueFrom(entries$)).map(({ value }) => value)).toEqual(['"7"', '"7"'])
  })

  it('an escaped name matches literally', async () => {
    const { client } = await open()
    for (const name of NAMES) {
      expect(await lastValueFrom(client.scan(escapeGlob(name)).pipe(names, toArray()))).toEqual([name])
    }
    const below$ = client.scan(`${escapeGlob('thermostat1\\')}*`).pipe(names, toArray())
    expect(await lastValueFrom(below$)).toEqual(['thermostat1\\setPoint'])
  })

  it('keys that a scan of a fenced view emits write with the fencing token', async () => {
    const { client } = await open()
    const view = fenced(client, '1:0:lock')
    await lastValueFrom(view.scan('asset/*', text).pipe(concatMap(key => key.set('x'))))
    await expect(firstValueFrom(client.set('asset/1', 'y', text))).rejects.toMatchObject({
      code: 'fencing-token-required',
    })
  })

  it('a scan continues after a reconnect', async () => {
    const { store } = await open()
    const link = await layLink(store.url)
    const client = openClient(link.url)
    await firstValueFrom(client.get('a', text))
    link.stall('down')
    const found = record(client.scan('asset/*').pipe(names))
    link.cut()
    link.restore()
    await found.until(({ completed }) => completed)
    expect([...found.values].sort()).toEqual(['asset/1', 'asset/2'])
  })

  it('invalid arguments error before anything is sent', async () => {
    const { store, session } = fakeStore(paged)
    const refuses = async <T>(scan: Scan<T>) => {
      expect(record(scan).error).toMatchObject({ code: 'argument' })
      await expect(scan[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'argument' })
    }
    await refuses(store.scan(''))
    await refuses(store.scan(new Uint8Array(0)))
    await refuses(store.scan('\ud800'))
    await refuses(store.scan('*', text, { timeout: 0 }))
    // @ts-expect-error a glob is text or bytes
    await refuses(store.scan(7))
    // @ts-expect-error unknown option
    await refuses(store.scan('*', text, { limit: 5 }))
    expect(session.requests).toEqual([])
  })
})

describe('pages of a scan', () => {
  it('each page is requested with the token of the previous page, even after an empty page', async () => {
    const { store, session } = fakeStore(paged)
    expect(await lastValueFrom(store.scan('*').pipe(names, toArray()))).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(session.requests.map(({ verb, key }) => `${verb} ${key}`)).toEqual(Array(4).fill('SCAN *'))
    expect(tokens(session)).toEqual([[], ['one'], ['\x00\xff'], ['three']])
  })

  marbleTest('a scan requests one page after the other, as long as the subscriber wants more', m => {
    const answers: Script = (_, nth) => m.cold('--(a|)', { a: PAGES[nth] ?? pageWith([]) })
    const { store, session } = fakeStore(answers)
    const scan$ = store.scan('*').pipe(names)
    // Each page takes 2 ms, and the second one is empty.
    const asked = [1, 4, 7].map(time => m.cold(`${'-'.repeat(time)}(x|)`))
    const counts: number[] = []
    for (const time$ of asked) time$.subscribe(() => counts.push(session.requests.length))
    m.expect(scan$, '------!').toBeObservable('--(ab)')
    m.flush()
    expect(counts).toEqual([1, 2, 3])
    expect(tokens(session)).toEqual([[], ['one'], ['\x00\xff']])
  })

  it('a scan requests no page after its subscriber has unsubscribed', () => {
    for (const [count, asked] of [
      [1, 1],
      [2, 1],
      [3, 3],
      [4, 3],
      [5, 4],
    ] as const) {
      const { store, session } = fakeStore(paged)
      const found = record(store.scan('*').pipe(names, take(count)))
      expect(found).toMatchObject({ values: ['a', 'b', 'c', 'd', 'e'].slice(0, count), completed: true })
      expect(tokens(session)).toHaveLength(asked)
    }
  })

  it('a scan requests the pages again for every subscription', () => {
    const { store, session } = fakeStore(() => of(pageWith(['a'])))
    const scan$ = store.scan('*').pipe(names)
    expect(session.requests).toEqual([])
    expect([record(scan$).values, record(scan$).values]).toEqual([['a'], ['a']])
    expect(tokens(session)).toEqual([[], []])
  })

  it('a loop requests a page only after it has consumed the previous page', async () => {
    const { store, session } = fakeStore(paged)
    const seen: [string, number][] = []
    for await (const key of store.scan('*', text)) {
      seen.push([key.name, session.requests.length])
      if (key.name === 'd') break
    }
    expect(seen).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 3],
      ['d', 3],
    ])
    expect(session.requests).toHaveLength(3)
    const { store: again } = fakeStore(paged)
    const all: string[] = []
    for await (const { name } of again.scan()) all.push(name)
    expect(all).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('a scan requests a page again that was lost with the connection', () => {
    const { store, session } = fakeStore((_, nth) => (nth === 1 ? of() : of(PAGES[nth === 0 ? 0 : 3] ?? pageWith([]))))
    const found = record(store.scan('*').pipe(names))
    session.disconnect(new ConnectionLostError())
    session.connect()
    expect(found).toMatchObject({ values: ['a', 'b', 'e'], completed: true })
    expect(tokens(session)).toEqual([[], ['one'], ['one']])
  })

  it('each page has a timeout, and its error names no key', () => {
    const { store, clock } = fakeStore((_, nth) => (nth === 0 ? of(pageWith(['a'], 't')) : of()))
    const found = record(store.scan('*', text, { timeout: 50 }).pipe(names))
    clock.advance(50)
    expect(found.error).toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/^No answer within 50 ms \(is a state store running at this broker\?\); /),
    })
    expect(found.values).toEqual(['a'])
  })
})

describe('a scan and its store', () => {
  it('a store without SCAN fails the scan with `unknown-command` and advice', async () => {
    const { store } = fakeStore(() => of('-ERR unknown command'))
    const failure = {
      name: 'ServiceError',
      code: 'unknown-command',
      text: 'unknown command',
      message: 'The state store refused the request: unknown command; it has no SCAN and cannot list its keys',
    }
    expect(record(store.scan('*')).error).toMatchObject(failure)
    await expect(store.scan('*')[Symbol.asyncIterator]().next()).rejects.toMatchObject(failure)
  })

  it('a store that restarted fails the scan with advice to scan again', () => {
    const { store } = fakeStore((_, nth) => (nth === 0 ? of(pageWith(['a'], 'old')) : of('-ERR syntax error')))
    const found = record(store.scan('*'))
    expect(found.values).toHaveLength(1)
    expect(found.error).toMatchObject({ code: 'syntax-error', message: expect.stringMatching(/scan again$/) })
  })

  it.each(['+OK', '*0\r\n', '*1\r\n$1\r\na\r\n', '*1\r\n*1\r\n$0\r\n\r\n', '*1\r\n*9\r\n', '$-1'])(
    'the response %j fails the scan with `payload`',
    payload => {
      const { store } = fakeStore(() => of({ payload: `${payload}` }))
      expect(record(store.scan('*')).error).toMatchObject({ code: 'payload' })
    },
  )
})
