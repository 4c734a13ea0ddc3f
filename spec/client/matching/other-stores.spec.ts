import { firstValueFrom, NEVER, type Observable, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type Entry, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { eventually } from '../../support/eventually.js'
import { record } from '../../support/open-client.js'
import { type Answer, fakeStore, type WireRequest } from '../../support/operator-session.js'

const UNKNOWN: Answer = { payload: '-ERR unknown command\r\n' }
const OK: Answer = { payload: '+OK\r\n' }
const ABSENT: Answer = { payload: '$-1\r\n' }
const page = (...keys: readonly string[]): Answer => ({
  payload: `*1\r\n*${keys.length}\r\n${keys.map(key => `$${key.length}\r\n${key}\r\n`).join('')}`,
})

type Answers = Partial<Record<string, (request: WireRequest) => Observable<string | Answer>>>

/** Opens a store without glob notifications whose keys change between scans. */
function open(answers: Answers = {}, keys: string[] = ['s/1', 's/2']) {
  const script: Answers = {
    GLOBNOTIFY: () => of(UNKNOWN),
    SCAN: () => of(page(...keys)),
    GET: ({ key }) => of(keys.includes(key) ? `1` : ABSENT),
    KEYNOTIFY: () => of(OK),
    ...answers,
  }
  const fake = fakeStore(request => script[request.verb]?.(request) ?? of(OK))
  const sent = (): string[] => fake.session.requests.map(({ verb, key, rest }) => [verb, key, ...rest].join(' '))
  return { ...fake, keys, sent }
}

const words = (entries: readonly Entry<unknown>[]): string[] => entries.map(({ key, op }) => `${key} ${op}`)

describe('matching at a store without glob notifications', () => {
  it('a watched glob finds keys by a scan and watches each separately', () => {
    const { store, sent } = open()
    const seen = record(matching(store, 's/*', text).entries$)
    expect(words(seen.values)).toEqual(['s/1 set', 's/2 set'])
    expect(sent()).toEqual(['GLOBNOTIFY s/*', 'SCAN s/*', 'KEYNOTIFY s/1', 'GET s/1', 'KEYNOTIFY s/2', 'GET s/2'])
    seen.unsubscribe()
    expect(sent().slice(-2)).toEqual(['KEYNOTIFY s/1 STOP', 'KEYNOTIFY s/2 STOP'])
  })

  it('a watched glob scans for keys again after `scanInterval`, and not sooner', () => {
    const { store, clock, keys, sent } = open()
    const seen = record(matching(store, 's/*', text, { scanInterval: 2_000 }).entries$)
    keys.push('s/3')
    clock.advance(1_999)
    expect(words(seen.values)).not.toContain('s/3 set')
    clock.advance(1)
    expect(words(seen.values)).toContain('s/3 set')
    expect(sent().filter(request => request.startsWith('SCAN'))).toHaveLength(2)
    seen.unsubscribe()
    clock.advance(100_000)
    expect(sent().filter(request => request.startsWith('SCAN'))).toHaveLength(2)
  })

  it('the default scanInterval is five seconds', () => {
    const { store, clock, sent } = open()
    record(matching(store, 's/*', text).freshness$)
    clock.advance(4_999)
    expect(sent().filter(request => request.startsWith('SCAN'))).toHaveLength(1)
    clock.advance(1)
    expect(sent().filter(request => request.startsWith('SCAN'))).toHaveLength(2)
  })

  it('freshness is live when the first scan is complete and all keys are read', () => {
    const { store } = open({ GET: () => NEVER })
    expect(record(matching(store, 's/*', text).freshness$).values).toEqual([{ state: 'connecting' }])
    const { store: other } = open()
    expect(record(matching(other, 's/*', text).freshness$).values).toEqual([{ state: 'connecting' }, { state: 'live' }])
  })

  it.each([
    ['-ERR syntax error\r\n', 0],
    ['-ERR wrong number of arguments\r\n', 0],
    ['-ERR the quota has been exceeded\r\n', 0],
  ])('a watched glob scans for keys when the response to the registration is %j', answer => {
    const { store } = open({ GLOBNOTIFY: () => of({ payload: answer }) })
    expect(words(record(matching(store, 's/*', text).entries$).values)).toEqual(['s/1 set', 's/2 set'])
  })

  it('after three lost responses a glob scans and retries its registration with backoff', () => {
    const { store, clock, sent } = open({ GLOBNOTIFY: () => NEVER })
    const errors = record(store.errors$)
    const seen = record(matching(store, 's/*', text).entries$)
    const asked = (): number => sent().filter(request => request.startsWith('GLOBNOTIFY')).length
    for (let i = 0; i < 100 && seen.values.length === 0; i++) clock.advance(1_000)
    expect(words(seen.values)).toEqual(['s/1 set', 's/2 set'])
    expect(asked()).toBeLessThanOrEqual(4)
    expect(errors.values.map(({ code }) => code)).toEqual(['timeout', 'timeout', 'timeout'])
    clock.advance(3_600_000)
    expect(asked()).toBeLessThan(200)
    expect(asked()).toBeGreaterThan(80)
    seen.unsubscribe()
    expect(sent().filter(request => request.endsWith('s/* STOP'))).toHaveLength(1)
  })

  it.each([
    ['did not respond three times', NEVER],
    ['was full', of<Answer>({ payload: '-ERR the quota has been exceeded\r\n' })],
  ])('a watched glob at a store that %s gets keys when the registration is confirmed', (_, silence) => {
    let answer$: Observable<Answer> = silence
    const { store, clock, keys, sent } = open({ GLOBNOTIFY: () => answer$ })
    const seen = record(matching(store, 's/*', text).entries$)
    const freshness = record(matching(store, 's/*', text).freshness$)
    for (let i = 0; i < 100 && seen.values.length === 0; i++) clock.advance(1_000)
    answer$ = of(OK)
    keys.push('s/3')
    clock.advance(100_000)
    expect(words(seen.values)).toContain('s/3 set')
    expect(freshness.values.map(({ state }) => state).slice(-3)).toEqual(['live', 'resyncing', 'live'])
    const before = sent().length
    clock.advance(100_000)
    expect(sent().slice(before)).toEqual([])
  })

  it('a store that cannot list keys either ends the watch with an error', () => {
    const { store } = open({ SCAN: () => of(UNKNOWN) })
    const seen = record(matching(store, 's/*', text).map$)
    expect(seen.error).toMatchObject({ code: 'unknown-command' })
  })

  it('a glob that the store cannot parse ends the watch with an error', () => {
    const { store, clock } = open({ SCAN: () => of({ payload: '-ERR syntax error\r\n' }) })
    const seen = record(matching(store, 's/*', text).entries$)
    clock.advance(1_000)
    expect(seen.error).toMatchObject({ code: 'syntax-error' })
  })

  it('more than `maxKeys` keys end the watch with an error and stop every registration', () => {
    const { store, sent } = open({}, ['s/1', 's/2', 's/3'])
    const seen = record(matching(store, 's/*', text, { maxKeys: 2 }).entries$)
    expect(seen.error).toMatchObject({ code: 'overflow' })
    expect(String(seen.error)).toContain('More than 2 keys match s/*')
    const watched = sent().filter(request => request.startsWith('KEYNOTIFY'))
    expect(watched.filter(request => request.endsWith('STOP')).length * 2).toBe(watched.length)
  })

  it('a found key shares its watch with later subscribers of that key', async () => {
    const { store, sent } = open()
    record(matching(store, 's/*', text).entries$)
    const late = record(matching(store, 's/*', text).entries$)
    expect(words(late.values)).toEqual(['s/1 set', 's/2 set'])
    expect(await firstValueFrom(store.key('s/1', text).value$)).toBe('1')
    expect(sent().filter(request => request === 'KEYNOTIFY s/1')).toHaveLength(1)
  })

  it('unknown options, an empty glob and an invalid codec throw', async () => {
    const { store } = open()
    const call = (...args: unknown[]): unknown => Reflect.apply(matching, undefined, [store, ...args])
    expect(() => call('s/*', text, { maxkeys: 1 })).toThrow('did you mean `maxKeys`')
    expect(() => call('s/*', text, { scanInterval: 0 })).toThrow('scanInterval')
    expect(() => call('', text)).toThrow('at least one byte')
    expect(() => call('s/*', {})).toThrow('codec')
    await eventually(() => true)
  })
})
