import { BehaviorSubject, NEVER, of, Subject } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { toListedKey } from '../../../../console/src/model/listed-key.js'
import { watchRows } from '../../../../console/src/state/rows.js'
import type { KeysResponse } from '../../../../src/server/console/contract.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('The rows of the displayed keys', () => {
  it('facts are requested again after a minute of silence', () => {
    const key = toListedKey('61')
    const facts = { id: key.id, version: '1', size: 1, watchers: 3 }
    const responses = [NEVER, of<KeysResponse>({ keys: [facts] })]
    const tick$ = new Subject<void>()
    const watchers: (number | undefined)[] = []
    const watching = watchRows({
      store$: NEVER,
      api: { keys: () => responses.shift() ?? NEVER },
      keys$: new BehaviorSubject([key]),
      tick$,
      now: () => 0,
    }).subscribe(rows => watchers.push(rows.get(key.id)?.facts?.watchers))
    vi.advanceTimersByTime(60_500)
    tick$.next()
    vi.advanceTimersByTime(500)
    watching.unsubscribe()
    expect(watchers.at(-1)).toBe(3)
  })
})
