import { BehaviorSubject, EMPTY, ReplaySubject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { pointsOf } from '../../../examples/thermostat/page/point-stream.js'
import { endOf, SPAN, unknown } from '../../../examples/thermostat/page/points.js'
import { type Entry, type Freshness, Hlc } from '../../../src/client/index.js'

/** A watched key whose values and freshness the test sets. */
class ControlledKey<T> {
  readonly entries$ = new ReplaySubject<Entry<T>>(1)
  readonly freshness$ = new BehaviorSubject<Freshness>({ state: 'live' })

  set(value: T, at: number, source: Entry<T>['source'] = 'notification'): void {
    this.entries$.next({ op: 'set', key: 'key', value, version: new Hlc(at, 0, 'store'), source })
  }
}

/** Watches the points of a chart whose three keys are live at first. */
function watchPoints() {
  const keys = {
    temperature: new ControlledKey<number>(),
    setPoint: new ControlledKey<number>(),
    heating: new ControlledKey<boolean>(),
  }
  const seen: (readonly (readonly number[])[])[] = []
  pointsOf(keys, { get: () => EMPTY }).subscribe(points => seen.push(points))
  const start = Date.now()
  keys.setPoint.set(21, start)
  keys.heating.set(false, start)
  keys.temperature.set(20, start)
  const become = (freshness: Freshness): void => {
    for (const key of Object.values(keys)) key.freshness$.next(freshness)
  }
  return { keys, start, become, last: () => seen.at(-1) ?? [] }
}

const GAP = [Number.NaN, Number.NaN, 0]

describe('The points of the thermostat chart', () => {
  it('the line ends when the values become stale', () => {
    const { start, become, last } = watchPoints()
    become({ state: 'stale', since: start + 500 })
    expect(last()).toEqual([
      [start, 20, 21, 0],
      [start + 500, ...GAP],
    ])
    expect(unknown([[start + 500, Number.NaN, Number.NaN, 0]], start + 2_000)).toEqual([[start + 500, start + 2_000]])
  })

  it('after a reconnect the first point has only values that were read again', () => {
    const { keys, start, become, last } = watchPoints()
    become({ state: 'stale', since: start + 500 })
    become({ state: 'resyncing' })
    keys.heating.set(true, start + 9_000, 'resync')
    keys.heating.freshness$.next({ state: 'live' })
    keys.setPoint.freshness$.next({ state: 'live' })
    keys.temperature.set(18, start + 9_500, 'resync')
    keys.temperature.freshness$.next({ state: 'live' })
    expect(last()).toEqual([
      [start, 20, 21, 0],
      [start + 500, ...GAP],
      [start + 9_500, 18, 21, 1],
    ])
  })

  it('a reconnect during which nothing changed adds no point before the gap', () => {
    const { start, become, last } = watchPoints()
    become({ state: 'stale', since: start + 500 })
    become({ state: 'live' })
    expect(last().map(([at]) => at)).toEqual([start, start + 500])
  })

  it('the gap follows the last point also if the clock of the page is behind', () => {
    const { start, become, last } = watchPoints()
    become({ state: 'stale', since: start - 4_000 })
    expect(last().map(([at]) => at)).toEqual([start, start + 1])
  })

  it('the chart covers the last five minutes also if the clock of the page is hours behind', () => {
    const { keys, start, last } = watchPoints()
    const later = start + 3 * 3_600_000
    for (let i = 0; i <= 1_000; i++) keys.temperature.set(20, later + 1_000 * i)
    expect(last().length).toBe(SPAN / 1_000 + 1)
    expect(endOf([[later, 20, 21, 0]], start)).toBe(later)
  })
})
