import { describe, expect, it } from 'vitest'
import { missingReason } from '../../../../console/src/model/missing-reason.js'
import { type Entry, Hlc } from '../../../../src/client/index.js'

const deleted = (reason: 'deleted' | 'expired' | 'unknown', at?: number): Entry<unknown> => ({
  key: 'k',
  op: 'delete',
  value: undefined,
  version: at === undefined ? undefined : new Hlc(at, 0, 'S'),
  source: 'resync',
  reason,
})

describe('Why a key has no value', () => {
  it.each([
    ['a reported expiry', deleted('expired', 1), undefined, 'expired'],
    ['a reported deletion after the expiry', deleted('deleted', 5_001), 5_000, 'deleted'],
    ['a read after the expiry', deleted('unknown'), 5_000, 'expired'],
    ['a deletion before the expiry, without a reason', deleted('unknown', 4_999), 5_000, 'deleted'],
    ['a deletion at the expiry, without a reason', deleted('unknown', 5_000), 5_000, 'expired'],
    ['a deletion of a key that never expires', deleted('unknown', 5_000), undefined, 'deleted'],
  ])('%s', (_, entry, expiresAt, reason) => {
    expect(missingReason(entry, expiresAt)).toBe(reason)
  })
})
