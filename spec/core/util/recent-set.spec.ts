import { describe, expect, it } from 'vitest'
import { RecentSet } from '../../../src/core/util/recent-set.js'

describe('RecentSet', () => {
  it('forgets the item that was added first when it is full', () => {
    const set = new RecentSet<string>(2)
    expect(set.isEmpty).toBe(true)
    for (const item of ['a', 'b', 'a', 'c']) set.add(item)
    expect(['a', 'b', 'c'].map(item => set.has(item))).toEqual([false, true, true])
    expect(set.isEmpty).toBe(false)
  })
})
