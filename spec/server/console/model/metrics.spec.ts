import { describe, expect, it } from 'vitest'
import { formatMemory, formatMs, formatPercent, formatRate } from '../../../../console/src/model/measure.js'
import { addSamples, chartsOf } from '../../../../console/src/model/metrics.js'
import type { HistoryResponse, MetricsSample } from '../../../../src/server/console/contract.js'

const eventLoop = { p50: 0, p95: 1, p99: 2, max: 3 }
const sampleAt = (at: number): MetricsSample => ({ at, eventLoop, requests: 1 })
const responseOf = (...samples: readonly MetricsSample[]): HistoryResponse => ({
  period: 10_000,
  memoryMark: 0.95,
  limits: { bytes: 1_000, bufferedBytes: 500 },
  samples,
})
const timesOf = ({ samples }: Pick<HistoryResponse, 'samples'>) => samples.map(({ at }) => at)

describe('The metrics of the page', () => {
  it('new samples are added, and samples of more than an hour ago are dropped', () => {
    const known = addSamples(undefined, responseOf(sampleAt(10_000), sampleAt(20_000)))
    expect(timesOf(addSamples(known, responseOf()))).toEqual([10_000, 20_000])
    expect(timesOf(addSamples(known, responseOf(sampleAt(30_000))))).toEqual([10_000, 20_000, 30_000])
    expect(timesOf(addSamples(known, responseOf(sampleAt(3_615_000))))).toEqual([20_000, 3_615_000])
  })

  it('samples of an earlier process are kept', () => {
    const known = addSamples(undefined, responseOf(sampleAt(10_000), sampleAt(20_000)))
    expect(timesOf(addSamples(known, responseOf(sampleAt(95_000))))).toEqual([10_000, 20_000, 95_000])
  })

  it('samples that the server has replaced, because its clock was set back, are dropped', () => {
    const known = addSamples(undefined, responseOf(sampleAt(10_000), sampleAt(20_000), sampleAt(30_000)))
    expect(timesOf(addSamples(known, responseOf(sampleAt(10_000), sampleAt(15_000))))).toEqual([10_000, 15_000])
  })
})

describe('The charts of a store', () => {
  const titlesOf = (response: HistoryResponse) => chartsOf(response).map(({ title }) => title)

  it('a store in memory has charts of commands, latency, event loop and memory', () => {
    const titles = ['Commands', 'Request latency', 'Event-loop lag', 'Memory']
    expect(titlesOf(responseOf())).toEqual(titles)
    expect(titlesOf(responseOf(sampleAt(10_000)))).toEqual(titles)
  })

  it('charts of the log follow the others, so that none of these moves', () => {
    const own = { ...sampleAt(10_000), flush: eventLoop }
    expect(titlesOf(responseOf(own)).at(-1)).toBe('Disk flush')
    const cluster = { lag: 3, present: 2, nodes: 3 }
    expect(titlesOf(responseOf({ ...sampleAt(10_000), cluster, commit: eventLoop })).slice(4)).toEqual([
      'Log lag',
      'Nodes',
      'Log commit',
    ])
  })

  it('an attached store has no chart of memory, because its limits are not known', () => {
    const { limits, ...attached } = responseOf(sampleAt(10_000))
    expect(titlesOf(attached)).toEqual(['Commands', 'Request latency', 'Event-loop lag'])
  })

  it('memory is shown in percent of its limits, with the mark of readiness', () => {
    const chart = chartsOf(responseOf()).find(({ title }) => title === 'Memory')
    const sample = { ...sampleAt(10_000), memory: { bytes: 250, bufferedBytes: 50 } }
    expect(chart?.lines.map(({ read }) => read(sample))).toEqual([25, 10])
    expect([chart?.mark, chart?.minScale]).toEqual([95, 100])
  })

  it('a value that was not measured is unknown in every chart', () => {
    const read = chartsOf(responseOf()).flatMap(({ lines }) => lines.map(line => line.read({ at: 1, eventLoop })))
    expect(read).toEqual([undefined, undefined, undefined, undefined, 0, 2, 3, undefined, undefined])
  })
})

describe('Measured values', () => {
  it('a duration has two significant digits and a unit', () => {
    expect([0, 0.001, 0.0994, 0.0996, 0.214, 3.14, 12.7, 999.4, 999.6, 1_234, 59_900, 187_000].map(formatMs)).toEqual([
      '0 ms',
      '1 µs',
      '99 µs',
      '0.1 ms',
      '0.21 ms',
      '3.1 ms',
      '13 ms',
      '999 ms',
      '1 s',
      '1.2 s',
      '60 s',
      '3m 07s',
    ])
  })

  it('a percentage above zero never looks like zero', () => {
    expect([0, 0.0001, 0.1, 12.34, 95].map(formatPercent)).toEqual(['0 %', '< 0.1 %', '0.1 %', '12.3 %', '95 %'])
  })

  it('a small rate has a decimal, and a large one is compact', () => {
    expect([0, 0.34, 9.5, 12.3, 4_513, 12_400].map(formatRate)).toEqual(['0', '0.3', '9.5', '12', '4,513', '12.4K'])
  })

  it('memory is shown in MiB or GiB', () => {
    expect([409.6 * 2 ** 20, 2 ** 30, 1.5 * 2 ** 30].map(formatMemory)).toEqual(['409.6 MiB', '1 GiB', '1.5 GiB'])
  })
})
