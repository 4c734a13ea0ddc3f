import {
  concat,
  firstValueFrom,
  interval,
  map,
  NEVER,
  type Observable,
  of,
  Subject,
  take,
  throwError,
  toArray,
} from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../console/src/api/api.js'
import { type FeedEvent, feed } from '../../../../console/src/api/feed.js'
import type { StoreFacts, StreamLine } from '../../../../src/server/console/contract.js'

const FACTS: StoreFacts = { url: 'mqtt://a:1', wsUrl: 'ws://a:2', seeded: false, version: '1.2.3' }
const LINE: StreamLine = { type: 'clients', clients: [] }
const CHUNK: readonly StreamLine[] = [LINE]

const typesOf = (events: readonly FeedEvent[]): string => events.map(({ type }) => type).join(' ')

/** Returns the events of the feed in virtual time. */
function timed(api: Parameters<typeof feed>[0], until: number): string[] {
  const events: string[] = []
  const scheduler = new TestScheduler(() => undefined)
  scheduler.run(({ flush }) => {
    const subscription = feed(api).subscribe(({ type }) =>
      events.push(`${Math.round(scheduler.now() / 1_000)} ${type}`),
    )
    scheduler.schedule(() => subscription.unsubscribe(), until)
    flush()
  })
  return events
}

describe('The feed of the server', () => {
  it('the feed emits the facts first, and then every line', async () => {
    const api = { facts: () => of(FACTS), stream: () => concat(of([LINE, LINE]), NEVER) }
    expect(await firstValueFrom(feed(api).pipe(take(3), toArray()))).toEqual([
      { type: 'open', facts: FACTS },
      { type: 'line', line: LINE },
      { type: 'line', line: LINE },
    ])
  })

  it('the feed reconnects when the stream ends, fails or cannot be opened', async () => {
    const ends: (() => Observable<readonly StreamLine[]>)[] = [
      () => of(CHUNK),
      () =>
        concat(
          of(CHUNK),
          throwError(() => new TypeError('network')),
        ),
      () => NEVER,
    ]
    const api = { facts: () => of(FACTS), stream: () => (ends.shift() ?? (() => NEVER))() }
    const events = await firstValueFrom(feed(api).pipe(take(7), toArray()))
    expect(typesOf(events)).toBe('open line lost open line lost open')
  })

  it('the feed treats silence as a lost connection', () => {
    const stream = () => concat(of(CHUNK), NEVER)
    expect(timed({ facts: () => of(FACTS), stream }, 7_000)).toEqual(['0 open', '0 line', '6 lost', '6 open', '6 line'])
    expect(timed({ facts: () => NEVER, stream }, 6_100)).toEqual(['6 lost'])
  })

  it('the feed keeps a slow connection on which a long line arrives in chunks', () => {
    const stream = () => concat(of(CHUNK), interval(2_000).pipe(map(n => (n < 9 ? [] : CHUNK))))
    expect(timed({ facts: () => of(FACTS), stream }, 20_500)).toEqual(['0 open', '0 line', '20 line'])
  })

  it('the feed retries without limit, with an increasing backoff', () => {
    const events = timed({ facts: () => throwError(() => new TypeError('network')), stream: () => NEVER }, 60_000)
    expect(events.length).toBeGreaterThan(14)
    expect(events.length).toBeLessThan(36)
  })

  it('the feed ends when the token is rejected', async () => {
    const cause = new ApiError(401, { code: 'token', message: 'wrong' })
    const api = { facts: () => throwError(() => cause), stream: () => NEVER }
    expect(await firstValueFrom(feed(api).pipe(toArray()))).toEqual([{ type: 'refused', cause }])
  })

  it('unsubscribing from the feed aborts the request', () => {
    const lines$ = new Subject<readonly StreamLine[]>()
    const subscription = feed({ facts: () => of(FACTS), stream: () => lines$ }).subscribe()
    expect(lines$.observed).toBe(true)
    subscription.unsubscribe()
    expect(lines$.observed).toBe(false)
  })
})
