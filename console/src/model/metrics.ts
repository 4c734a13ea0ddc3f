import type { HistoryResponse, MetricsSample, Percentiles } from '../../../src/server/console/contract.js'
import { formatCompact } from './amount.js'
import { formatMemory, formatMs, formatPercent, formatRate } from './measure.js'

export const HOUR_MS = 3_600_000

/** The metrics that the page knows. */
export interface Metrics extends Omit<HistoryResponse, 'samples'> {
  /** Samples of the last hour, oldest first. */
  readonly samples: readonly MetricsSample[]
}

/**
 * Adds newer samples. Samples of an earlier process, which the server no longer has, are kept, so that the chart has a gap
 * for the time in between.
 */
export function addSamples(known: Metrics | undefined, response: HistoryResponse): Metrics {
  const [first] = response.samples
  if (known === undefined) return response
  if (first === undefined) return { ...response, samples: known.samples }
  const samples = [...known.samples.filter(({ at }) => at < first.at), ...response.samples]
  const start = (samples.at(-1)?.at ?? 0) - HOUR_MS
  return { ...response, samples: samples.filter(({ at }) => at > start) }
}

/** A line of a chart. `undefined` is an unknown value. */
export interface Line {
  readonly name: string
  readonly tone: 1 | 2 | 3
  read(sample: MetricsSample): number | undefined
}

export interface MetricChart {
  readonly title: string
  readonly hint: string
  readonly lines: readonly Line[]
  /** A value that is marked because the store acts on it. */
  readonly mark?: number
  /** The lowest end of the scale, so that small values do not fill the height. */
  readonly minScale: number
  format(value: number): string
}

type Percentile = keyof Percentiles

/** Returns a line for each percentile. */
const percentiles = (
  of: (sample: MetricsSample) => Percentiles | undefined,
  ...names: readonly [Percentile, Percentile, Percentile]
): readonly Line[] =>
  names.map((name, i) => ({ name, tone: i === 0 ? 1 : i === 1 ? 2 : 3, read: sample => of(sample)?.[name] }))

const durations = { minScale: 0.1, format: formatMs }
const counts = { minScale: 2, format: formatCompact }

/**
 * Returns a store's charts. Charts of the log are last, because a store with a directory has them only after its
 * first write, and no other chart may move then.
 */
export function chartsOf({ samples, limits, memoryMark }: Metrics): readonly MetricChart[] {
  const has = (name: keyof MetricsSample): boolean => samples.some(sample => sample[name] !== undefined)
  const share = (bytes: number | undefined, limit: number): number | undefined =>
    bytes === undefined ? undefined : (100 * bytes) / limit
  const charts: readonly (MetricChart | false | undefined)[] = [
    {
      title: 'Commands',
      hint: 'per second',
      lines: [{ name: 'commands/s', tone: 1, read: ({ requests }) => requests }],
      minScale: 4,
      format: formatRate,
    },
    {
      title: 'Request latency',
      hint: 'from arrival to response',
      lines: percentiles(({ latency }) => latency, 'p50', 'p95', 'p99'),
      ...durations,
    },
    {
      title: 'Event-loop lag',
      hint: 'timers are late by',
      lines: percentiles(({ eventLoop }) => eventLoop, 'p50', 'p99', 'max'),
      ...durations,
    },
    limits && {
      title: 'Memory',
      hint: `of the limit; not ready above ${formatPercent(100 * memoryMark)}`,
      lines: [
        {
          name: `keys, of ${formatMemory(limits.bytes)}`,
          tone: 1,
          read: ({ memory }) => share(memory?.bytes, limits.bytes),
        },
        {
          name: `buffers, of ${formatMemory(limits.bufferedBytes)}`,
          tone: 2,
          read: ({ memory }) => share(memory?.bufferedBytes, limits.bufferedBytes),
        },
      ],
      mark: 100 * memoryMark,
      minScale: 100,
      format: formatPercent,
    },
    has('cluster') && {
      title: 'Log lag',
      hint: 'messages not applied yet',
      lines: [{ name: 'messages', tone: 1, read: ({ cluster }) => cluster?.lag }],
      ...counts,
    },
    has('cluster') && {
      title: 'Nodes',
      hint: 'seen in the last 10 s',
      lines: [
        { name: 'live', tone: 1, read: ({ cluster }) => cluster?.present },
        { name: 'known', tone: 3, read: ({ cluster }) => cluster?.nodes },
      ],
      ...counts,
    },
    has('flush') && {
      title: 'Disk flush',
      hint: 'write and flush of an entry',
      lines: percentiles(({ flush }) => flush, 'p50', 'p95', 'p99'),
      ...durations,
    },
    has('commit') && {
      title: 'Log commit',
      hint: 'from append to commit',
      lines: percentiles(({ commit }) => commit, 'p50', 'p95', 'p99'),
      ...durations,
    },
  ]
  return charts.filter(chart => typeof chart === 'object')
}
