import { Random } from '../../../harness/random.js'
import { byTime, type Schedule } from './schedule.js'

export type RequestType = 'set' | 'nx' | 'nex' | 'del' | 'vdel' | 'get'

/** An event for the clients and nodes of a store, or for the log that they share. */
export type ClusterAction =
  | {
      readonly at: number
      readonly type: 'ask'
      readonly client: number
      readonly key: number
      readonly what: RequestType
      readonly px?: number
      readonly token?: number
    }
  | { readonly at: number; readonly type: 'watch'; readonly client: number; readonly key: number }
  | { readonly at: number; readonly type: 'hop'; readonly client: number; readonly node: number }
  /** The node is killed, and restarts after `down` milliseconds. */
  | { readonly at: number; readonly type: 'crash'; readonly node: number; readonly down: number }
  | { readonly at: number; readonly type: StreamFault; readonly node: number; readonly duration: number }
  | { readonly at: number; readonly type: 'quorum lost'; readonly duration: number }
  /** Another server leads the stream. Its clock has the error `skew` in milliseconds. */
  | { readonly at: number; readonly type: 'leader'; readonly skew: number }
  | { readonly at: number; readonly type: 'clock'; readonly node: number; readonly offset: number }
  /** The next snapshot fails, is written incorrectly, or is read incorrectly. */
  | { readonly at: number; readonly type: 'snapshot'; readonly what: 'fails' | 'damaged' | 'misread' }
  | { readonly at: number; readonly type: 'forget' }

/**
 * `deaf`: messages are lost without a response; `mute`: responses are lost; `late`: messages arrive after their
 * publisher gave up; `lossy`: some messages are lost with an error; `doubled`: messages arrive twice; `stalled`: the
 * feed delivers nothing; `broken`: the feed fails.
 */
export type StreamFault = 'deaf' | 'mute' | 'late' | 'lossy' | 'doubled' | 'stalled' | 'broken'

export interface ClusterSchedule extends Schedule<ClusterAction> {
  readonly nodes: number
  readonly clients: number
  readonly keys: number
  readonly latency: number
  /** The number of messages after which a snapshot is written. */
  readonly snapshots: number
  /** The maximum message size of the stream in bytes. Longer entries are split. */
  readonly largest: number
  readonly end: number
}

const STREAM_FAULTS: readonly [StreamFault, ...StreamFault[]] = [
  'deaf',
  'mute',
  'late',
  'lossy',
  'doubled',
  'stalled',
  'broken',
]
const REQUEST_TYPES: readonly [RequestType, ...RequestType[]] = [
  'set',
  'set',
  'nx',
  'nex',
  'del',
  'vdel',
  'get',
  'get',
  'get',
]
const HOUR_MS = 3_600_000

export const CLUSTER_GENERATORS = [first]

function first(seed: number): ClusterSchedule {
  const random = new Random(seed ^ 0xc1057e4)
  const [nodes, clients, keys] = [3, random.int(2, 4), random.int(1, 2)]
  const end = random.pick([1_500, 3_000, 5_000])
  const at = (): number => random.int(50, end - 1)
  const times = (most: number, make: () => ClusterAction): ClusterAction[] =>
    Array.from({ length: random.int(0, most) }, make)
  const node = (): number => random.int(0, nodes - 1)
  const client = (): number => random.int(0, clients - 1)
  // Requests are sent in bursts, because only concurrent requests cause races.
  const bursts = Array.from({ length: random.int(2, 6) }, at)
  const ask = (): ClusterAction => ({
    at: (bursts[random.int(0, bursts.length - 1)] ?? 0) + random.int(0, random.pick([0, 10, 100])),
    type: 'ask',
    client: client(),
    key: random.int(0, keys - 1),
    what: random.pick(REQUEST_TYPES),
    ...(random.chance(0.2) ? { px: random.int(1, 1_200) } : {}),
    ...(random.chance(0.15) ? { token: random.int(1, 5) } : {}),
  })
  const actions: ClusterAction[] = [
    ...Array.from({ length: random.int(6, 24) }, ask),
    ...times(4, () => ({ at: at(), type: 'watch', client: client(), key: random.int(0, keys - 1) })),
    ...times(3, () => ({ at: at(), type: 'hop', client: client(), node: node() })),
    ...times(2, () => ({ at: at(), type: 'crash', node: node(), down: random.int(1, 1_500) })),
    ...times(4, () => ({ at: at(), type: random.pick(STREAM_FAULTS), node: node(), duration: random.int(1, 2_500) })),
    ...times(1, () => ({ at: at(), type: 'quorum lost', duration: random.int(1, 2_500) })),
    ...times(2, () => ({ at: at(), type: 'leader', skew: random.pick([0, 0, -HOUR_MS, HOUR_MS, -800, 800]) })),
    ...times(1, () => ({ at: at(), type: 'clock', node: node(), offset: random.pick([-HOUR_MS, HOUR_MS, -900, 900]) })),
    ...times(2, () => ({ at: at(), type: 'snapshot', what: random.pick(['fails', 'damaged', 'misread']) })),
    ...times(1, () => ({ at: at(), type: 'forget' })),
  ]
  const readsSnapshots = random.chance(0.3)
  if (readsSnapshots) {
    const written = random.int(600, end)
    const crashed = random.int(written, end)
    actions.push({ at: written, type: 'snapshot', what: random.pick(['damaged', 'damaged', 'misread']) })
    actions.push({ at: crashed, type: 'crash', node: node(), down: random.int(1, 800) })
  }
  return {
    seed,
    nodes,
    clients,
    keys,
    latency: random.pick([1, 2, 10, 60]),
    snapshots: readsSnapshots ? 3 : random.pick([5, 15, 1_000]),
    largest: random.pick([1_000, 4_000, 1_000_000]),
    end,
    actions: actions.sort(byTime),
  }
}
