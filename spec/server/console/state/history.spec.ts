import { describe, expect, it } from 'vitest'
import { changeTimesOf, HistoryRecorder, MAX_CHANGES, MAX_NUMBERS } from '../../../../console/src/state/history.js'
import { addSample, MAX_SAMPLES, NO_STATS } from '../../../../console/src/state/stats-history.js'
import { type Entry, type GoneReason, Hlc } from '../../../../src/client/index.js'
import { utf8 } from '../../../../src/core/util/bytes.js'

const set = (value: string, at: number): Entry<Uint8Array> => ({
  key: 'a',
  op: 'set',
  value: utf8(value),
  version: new Hlc(at, 0, 'S'),
  source: 'notification',
})
const missing = (op: 'delete' | 'absent', at?: number, reason: GoneReason = 'unknown'): Entry<Uint8Array> => ({
  key: 'a',
  op,
  value: undefined,
  version: at === undefined ? undefined : new Hlc(at, 0, 'S'),
  source: 'notification',
  reason,
})

describe('HistoryRecorder', () => {
  it('changes are listed newest first, with version and source', () => {
    const history = new HistoryRecorder()
    history.add({ ...set('20', 1_000), source: 'snapshot' }, 5_000)
    history.add(set('warm', 6_000), 6_001)
    history.add(missing('delete', 7_000), 7_001)
    history.add(missing('absent'), 8_000)
    history.add(missing('delete', 9_000, 'expired'), 9_001)
    const { changes, total, entry } = history.current
    expect(changes.map(({ op, at, line, version, source }) => [op, at, line, version, source])).toEqual([
      ['delete', 9_000, 'expired', '9000:0:S', 'notification'],
      ['absent', 8_000, 'not found', undefined, 'notification'],
      ['delete', 7_000, 'deleted', '7000:0:S', 'notification'],
      ['set', 6_000, 'warm', '6000:0:S', 'notification'],
      ['set', 1_000, '20', '1000:0:S', 'snapshot'],
    ])
    expect({ total, op: entry?.op }).toEqual({ total: 5, op: 'delete' })
  })

  it('the oldest changes and numbers are dropped, but still count towards the total', () => {
    const history = new HistoryRecorder()
    for (let i = 1; i <= MAX_NUMBERS + 10; i++) history.add(set(String(i), i), i)
    const { changes, total, series } = history.current
    expect([changes.length, series.times.length, series.values.length]).toEqual([MAX_CHANGES, MAX_NUMBERS, MAX_NUMBERS])
    expect({ total, newest: changes[0]?.line, oldest: series.values[0] }).toEqual({
      total: MAX_NUMBERS + 10,
      newest: String(MAX_NUMBERS + 10),
      oldest: 11,
    })
  })

  it('the times of numbers ascend, and the last of several numbers in one millisecond wins', () => {
    const history = new HistoryRecorder()
    for (const entry of [set('1', 10), set('2', 10), set('warm', 11), set('3', 9), set('4', 12)]) history.add(entry, 0)
    expect(history.current.series).toEqual({ times: [10, 12], values: [3, 4] })
  })

  it('every change except the initial value has a marble', () => {
    const history = new HistoryRecorder()
    history.add(set('1', 1), 10_000)
    expect(changeTimesOf(history.current).sets).toEqual([])
    history.add(set('2', 2), 20_000)
    history.add(set('3', 2), 20_100)
    history.add(missing('delete', 3), 30_000)
    expect(changeTimesOf(history.current)).toEqual({ sets: [20_100, 20_000], deletes: [30_000] })
  })

  it('a returned history is immutable', () => {
    const history = new HistoryRecorder()
    history.add(set('1', 1), 1)
    const { changes, series } = history.current
    history.add(set('2', 2), 2)
    expect([changes.length, series.values.length]).toEqual([1, 1])
  })
})

describe('Statistics', () => {
  it('samples are kept for two minutes', () => {
    const pulse = { type: 'pulse', startedAt: 0, keys: 0, watches: 0, connections: 0, errors: 0, keyspace: 0 } as const
    let pulses = NO_STATS
    for (let at = 1; at <= 200; at++) pulses = addSample(pulses, { ...pulse, at, requests: at, notifications: 0 })
    expect(pulses.requests).toHaveLength(MAX_SAMPLES)
    expect([pulses.requests[0], pulses.requests.at(-1), pulses.last?.at]).toEqual([81, 200, 200])
    // The server sends the rates of the last two minutes with each connection.
    const resumed = addSample(pulses, { type: 'rates', requests: [7, 8], errors: [0, 1], notifications: [2, 3] })
    expect(resumed).toEqual({ last: pulses.last, requests: [7, 8], errors: [0, 1], notifications: [2, 3] })
  })
})
