import { map } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, it } from 'vitest'
import type { OptimisticState } from '../../../src/client/optimistic/index.js'
import { type DesiredAndReported, deltas, type Reported } from '../../../src/client/shadow/delta.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'

interface Pump {
  readonly speed: number
}

type Word = OptimisticState<unknown>['state']

const at = (time: number): Hlc => Hlc.parse(`${time}:0:S`)

const stateOf = (
  confirmed: Partial<Pump> | undefined,
  version: number,
  word: Word,
  isLive = true,
): DesiredAndReported<Pump>[1] => ({
  value: confirmed,
  confirmed,
  state: word,
  version: version === 0 ? undefined : at(version),
  error: undefined,
  late: undefined,
  freshness: isLive ? { state: 'live' } : { state: 'connecting' },
})

/**
 * Returns both states. Speed 2 is desired. `speed` was reported with `version`, where 0 means never; `word` is the
 * state of the last report.
 */
const both = (
  speed: number | undefined,
  version: number,
  word: Word = 'confirmed',
  isLive = true,
): DesiredAndReported<Pump> => [
  stateOf({ speed: 2 }, 1, 'confirmed', isLive),
  stateOf(speed === undefined ? undefined : { speed }, version, word, isLive),
]

const STATES = {
  n: both(undefined, 0),
  p: both(undefined, 0, 'pending'),
  u: both(undefined, 0, 'unknown'),
  x: both(undefined, 0, 'confirmed', false),
  d: both(2, 5),
  D: both(2, 5, 'pending'),
  l: both(1, 5),
  g: both(undefined, 9),
  G: both(undefined, 9, 'pending'),
  w: [stateOf({ speed: 3 }, 2, 'confirmed'), stateOf(undefined, 0, 'pending')],
} as const
const REPORTS = {
  d: { desired: { speed: 2 }, reported: { speed: 2 }, version: at(5) },
  l: { desired: { speed: 2 }, reported: { speed: 1 }, version: at(5) },
  s: { desired: { speed: 2 }, reported: { speed: 2 }, version: undefined },
  m: { desired: { speed: 2 }, reported: {}, version: at(9) },
}
const DELTAS = { t: '{"speed":2}', e: '{}', w: '{"speed":3}' }

/** Returns a test that compares the deltas emitted for given states and responses to reports. */
const emits = (states: string, reports: string, expected: string) =>
  marbles(m => {
    const delta$ = deltas<Pump>(
      m.hot<DesiredAndReported<Pump>>(states, STATES),
      m.hot<Reported<Pump>>(reports, REPORTS),
    )
    m.expect(delta$.pipe(map(({ delta }) => JSON.stringify(delta)))).toBeObservable(expected, DELTAS)
  })

describe('delta$', () => {
  it('emits a delta that has changed', emits('n-n-d-d-g|', '---------|', 't---e---t|'))
  it('emits a delta that changes during a report', emits('n-p-w-p-|', '--------|', 't---w-t-|'))
  it(
    'a delta is repeated when the report was reverted before it was seen',
    emits('n-p-x-n-|', '---d----|', 't-----t-|'),
  )
  it('a delta is repeated when the reversal arrives before the response', emits('n-p-g---|', '-----d--|', 't----t--|'))
  it(
    'a delta is repeated when the reversal arrives during the next report',
    emits('n-p-G---|', '-----d--|', 't----t--|'),
  )
  it(
    'a delta is emitted once when report and reversal arrive before the response',
    emits('n-D-G---|', '-----d--|', 't-e-t---|'),
  )
  it('a delta is emitted once when the response arrives after the read', emits('n-p-d-d-|', '-----d--|', 't---e---|'))
  it('a delta is not repeated by a state older than the report', emits('n-p-p-d-|', '---d----|', 't-----e-|'))
  it(
    'a delta is not repeated while the outcome of a later report is unknown',
    emits('n-p-u-d-|', '---d----|', 't-----e-|'),
  )
  it('a delta is not repeated when the report does not change it', emits('n-p-l-g-|', '---l----|', 't-------|'))
  it('a delta is not repeated when the outcome of a report is unknown', emits('n-p-u-n-|', '--------|', 't-------|'))
  it(
    'a delta is repeated when the report was superseded by a report that is lost',
    emits('n-p-p-u-n|', '---s-----|', 't-------t|'),
  )
  it(
    'a delta is repeated when a later report overwrites the superseding report',
    emits('n-p-p-G-p|', '---s---m-|', 't------t-|'),
  )
  it('a delta is emitted once when the superseding report is applied', emits('n-p-p-D-d|', '---s---d-|', 't-----e--|'))
  it('completes and errors with the states', emits('n-#', '---', 't-#'))
})
