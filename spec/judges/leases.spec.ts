import { describe, expect, it } from 'vitest'
import { findLeaseViolations } from '../../harness/judges/leases.js'

describe('findLeaseViolations', () => {
  const held = (holder: string, token: string, from: number, until: number) => ({
    lock: 'lock/1',
    holder,
    token,
    from,
    until,
  })
  const first = held('c0', '100:0:StateStore', 0, 10)

  it('the judge accepts consecutive holders of a lease', () => {
    const other = { ...held('c2', '100:0:StateStore', 5, 8), lock: 'lock/2' }
    expect(findLeaseViolations([first, held('c1', '100:1:StateStore', 10, 20), other])).toEqual([])
  })

  it('the judge rejects concurrent holders and tokens that are not newer', () => {
    expect(findLeaseViolations([first, held('c1', '101:0:StateStore', 9, 20)])).toMatchObject([
      expect.stringMatching(/at the same time/),
    ])
    expect(findLeaseViolations([first, held('c1', '100:0:StateStore', 11, 20)])).toMatchObject([
      expect.stringMatching(/not newer/),
    ])
  })
})
