import { map } from 'rxjs'
import { marbles } from 'rxjs-marbles'
import { describe, it } from 'vitest'
import type { OptimisticState } from '../../src/optimistic/index.js'
import { type Both, deltas } from '../../src/shadow/delta.js'

interface Pump {
  readonly speed: number
}

type Word = OptimisticState<unknown>['state']

const stateOf = (confirmed: Partial<Pump> | undefined, state: Word, isLive: boolean): Both<Pump>[1] => ({
  value: confirmed,
  confirmed,
  state,
  version: undefined,
  error: undefined,
  late: undefined,
  freshness: isLive ? { state: 'live' } : { state: 'connecting' },
})

/** Speed 2 is desired; what was reported, and whether a report is on its way. */
const both = (speed: number | undefined, state: Word = 'confirmed', isLive = true): Both<Pump> => [
  stateOf({ speed: 2 }, 'confirmed', isLive),
  stateOf(speed === undefined ? undefined : { speed }, state, isLive),
]

const STATES = {
  n: both(undefined),
  p: both(undefined, 'pending'),
  u: both(undefined, 'unknown'),
  x: both(undefined, 'confirmed', false),
  d: both(2),
  l: both(1),
}
const REPORTS = { d: [{ speed: 2 }, { speed: 2 }], l: [{ speed: 2 }, { speed: 1 }] } as const
const DELTAS = { t: '{"speed":2}', e: '{}' }

/** What a device is told, by states and by the answers to its reports. */
const behaves = (states: string, reports: string, told: string) =>
  marbles(m => {
    const delta$ = deltas<Pump>(m.hot(states, STATES), m.hot(reports, REPORTS))
    m.expect(delta$.pipe(map(({ delta }) => JSON.stringify(delta)))).toBeObservable(told, DELTAS)
  })

describe('deltas', () => {
  it('are told when they are others', behaves('n-n-d-d-n|', '---------|', 't---e---t|'))
  it('are told again when what was reported was taken back unseen', behaves('n-p-x-n-|', '---d----|', 't-----t-|'))
  it('are not told again by what the store had before a report', behaves('n-p-p-d-|', '---d----|', 't-----e-|'))
  it('are not told again when the report left them as they are', behaves('n-p-l-n-|', '---l----|', 't-------|'))
  it('are not told again when nobody knows what became of a report', behaves('n-p-u-n-|', '--------|', 't-------|'))
  it('are told once when the answer comes behind what is read', behaves('n-p-d-d-|', '-----d--|', 't---e---|'))
  it('end with the states, and fail as they do', behaves('n-#', '---', 't-#'))
})
