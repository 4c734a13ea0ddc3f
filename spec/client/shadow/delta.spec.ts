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

/** Speed 2 is desired; what was reported and when, 0 for never, and what is known of the last report. */
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

/** What a device is told, by states and by the answers to its reports. */
const behaves = (states: string, reports: string, told: string) =>
  marbles(m => {
    const delta$ = deltas<Pump>(
      m.hot<DesiredAndReported<Pump>>(states, STATES),
      m.hot<Reported<Pump>>(reports, REPORTS),
    )
    m.expect(delta$.pipe(map(({ delta }) => JSON.stringify(delta)))).toBeObservable(told, DELTAS)
  })

describe('deltas', () => {
  it('are told when they are others', behaves('n-n-d-d-g|', '---------|', 't---e---t|'))
  it('are told when they are others while a report is on its way', behaves('n-p-w-p-|', '--------|', 't---w-t-|'))
  it('are told again when what was reported was taken back unseen', behaves('n-p-x-n-|', '---d----|', 't-----t-|'))
  it('are told again when that was heard before the answer', behaves('n-p-g---|', '-----d--|', 't----t--|'))
  it(
    'are told again when that was heard, and the next report is on its way',
    behaves('n-p-G---|', '-----d--|', 't----t--|'),
  )
  it('are told once when both were heard before the answer', behaves('n-D-G---|', '-----d--|', 't-e-t---|'))
  it('are told once when the answer comes behind what is read', behaves('n-p-d-d-|', '-----d--|', 't---e---|'))
  it('are not told again by what the store had before a report', behaves('n-p-p-d-|', '---d----|', 't-----e-|'))
  it('are not told again while nobody knows what became of a later one', behaves('n-p-u-d-|', '---d----|', 't-----e-|'))
  it('are not told again when the report left them as they are', behaves('n-p-l-g-|', '---l----|', 't-------|'))
  it('are not told again when nobody knows what became of a report', behaves('n-p-u-n-|', '--------|', 't-------|'))
  it(
    'are told again when the report went with a later one that is lost',
    behaves('n-p-p-u-n|', '---s-----|', 't-------t|'),
  )
  it('are told again when one behind that is done', behaves('n-p-p-G-p|', '---s---m-|', 't------t-|'))
  it('are told once when it went with a later one that is done', behaves('n-p-p-D-d|', '---s---d-|', 't-----e--|'))
  it('end with the states, and fail as they do', behaves('n-#', '---', 't-#'))
})
