import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import type { HistoryResponse, MetricsSample } from '../../../src/server/console/contract.js'
import { attach } from '../../../src/server/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'
import { type OpenConsole, openConsole, openConsoleOf } from './open-console.js'

const HOUR_MS = 3_600_000
const now = (): string => `${Date.now()}:0:client`
const percentiles = {
  p50: expect.any(Number),
  p95: expect.any(Number),
  p99: expect.any(Number),
  max: expect.any(Number),
}

async function historyOf({ callApi }: Pick<OpenConsole, 'callApi'>, since = ''): Promise<HistoryResponse> {
  const response = await callApi(`api/history${since}`)
  expect(response.status).toBe(200)
  return response.json()
}

const timesOf = ({ samples }: { readonly samples: readonly MetricsSample[] }): readonly number[] =>
  samples.map(({ at }) => at)

describe('GET /api/history', () => {
  it('the history has a sample for every ten seconds, also if no page was open', async () => {
    const open = await openConsole()
    const { store, clock } = open
    const start = clock.now()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET before v'), { timestamp: now() })
    clock.advance(9_999)
    expect((await historyOf(open)).samples).toEqual([])
    clock.advance(1)
    for (let n = 0; n < 24; n++) await alice.request(command('SET k v'), { timestamp: now() })
    await alice.request(command('nonsense'))
    clock.advance(10_000)
    const { bytes, bufferedBytes } = store.limits
    const memory = { bytes: store.stats.bytes, bufferedBytes: store.stats.bufferedBytes }
    expect(await historyOf(open)).toEqual({
      period: 10_000,
      limits: { bytes, bufferedBytes },
      memoryMark: 0.95,
      samples: [
        expect.objectContaining({ at: start + 10_000 }),
        { at: start + 20_000, eventLoop: percentiles, requests: 2.5, latency: percentiles, memory },
      ],
    })
  })

  it('a period without requests has a rate of 0, and its latency is unknown', async () => {
    const open = await openConsole()
    open.clock.advance(10_000)
    const { samples } = await historyOf(open)
    expect(samples).toMatchObject([{ requests: 0 }])
    expect(samples[0]).not.toHaveProperty('latency')
  })

  it('the samples of the last hour are kept', async () => {
    const open = await openConsole()
    const { clock } = open
    clock.advance(HOUR_MS + 20_000)
    const times = timesOf(await historyOf(open))
    expect([times.length, times[0], times.at(-1)]).toEqual([360, clock.now() - HOUR_MS + 10_000, clock.now()])
  })

  it('with a time, only later samples are returned', async () => {
    const open = await openConsole()
    const { clock } = open
    clock.advance(30_000)
    const times = timesOf(await historyOf(open))
    expect(timesOf(await historyOf(open, `?since=${times[0]}`))).toEqual(times.slice(1))
    expect(timesOf(await historyOf(open, `?since=${times.at(-1)}`))).toEqual([])
  })

  it('after the clock was set back, no sample is later than the newest one, and all are returned', async () => {
    const open = await openConsole()
    const { clock } = open
    const start = clock.now()
    clock.advance(60_000)
    clock.jump(-45_000)
    clock.advance(10_000)
    const expected = [start + 10_000, start + 20_000, start + 25_000]
    expect(timesOf(await historyOf(open, `?since=${start + 60_000}`))).toEqual(expected)
  })

  it('a restart of the store neither interrupts the history nor distorts the rate', async () => {
    const open = await openConsole()
    const { store, clock } = open
    const alice = await StoreClient.ready(store.url, 'alice')
    for (let n = 0; n < 20; n++) await alice.request(command('SET k v'), { timestamp: now() })
    clock.advance(10_000)
    await store.restart({ keys: 'kept' })
    const bob = await StoreClient.ready(store.url, 'bob')
    for (let n = 0; n < 10; n++) await bob.request(command('SET k v'), { timestamp: now() })
    clock.advance(10_000)
    expect((await historyOf(open)).samples).toMatchObject([{ requests: 2 }, { requests: 1 }])
  })

  it('a store with a directory reports how long flushes take', async () => {
    const open = await openConsole({ serve: { data: temporaryFolder() } })
    const { store, clock } = open
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET k v'), { timestamp: now() })
    clock.advance(10_000)
    clock.advance(10_000)
    const { samples } = await historyOf(open)
    expect(samples).toMatchObject([{ flush: percentiles }, {}])
    expect(samples[0]).not.toHaveProperty('commit')
    expect(samples[1]).not.toHaveProperty('flush')
  })

  it('an attached store reports no memory, and a standby no requests', async () => {
    const broker = await openBroker({ port: await freePort() })
    const url = `mqtt://127.0.0.1:${broker.port}`
    const clock = new ManualClock()
    const openInState = async (state: 'serving' | 'standby') => {
      const store = await attach(url)
      onTestFinished(async () => store.close())
      if (store.state.state !== state) await untilState(store, state)
      return openConsoleOf(store, { brokerUrl: `ws://127.0.0.1:${broker.wsPort}/`, clock })
    }
    const active = await openInState('serving')
    const standby = await openInState('standby')
    clock.advance(10_000)
    const history = await historyOf(active)
    expect(history).not.toHaveProperty('limits')
    // The standby checks whether another store serves.
    expect(history.samples.map(Object.keys)).toEqual([['at', 'eventLoop', 'requests', 'latency']])
    expect((await historyOf(standby)).samples).toEqual([{ at: clock.now(), eventLoop: percentiles }])
  })

  it('the history requires the token', async () => {
    const { server } = await openConsole()
    expect((await fetch(new URL('api/history', server.url))).status).toBe(401)
  })

  it('a time that is not a number is rejected', async () => {
    const { callApi } = await openConsole()
    for (const since of ['yesterday', 'NaN', 'Infinity']) {
      const response = await callApi(`api/history?since=${since}`)
      expect([response.status, await response.json()]).toEqual([
        400,
        { code: 'argument', message: '`since` must be a time in ms since the Unix epoch' },
      ])
    }
  })
})
