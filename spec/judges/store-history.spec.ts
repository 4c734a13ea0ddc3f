import { describe, expect, it } from 'vitest'
import type { JournalLine, JournalledWrite, RecoveredKey } from '../../harness/judges/journal.js'
import { StoreHistory } from '../../harness/judges/store-history.js'
import { Violations } from '../../harness/judges/violations.js'
import { checkWrites, type EndedWrite } from '../../harness/judges/writes.js'

const KEY = 'chaos/1'
const FIRST = 'c0.0.0.0'
const SECOND = 'c0.0.1.0'

const written = (at: number, value: string, more: Partial<JournalledWrite> = {}): JournalledWrite => ({
  type: 'write',
  at,
  client: 'c0',
  verb: 'SET',
  key: KEY,
  value,
  condition: undefined,
  outcome: 'ok',
  isRepeated: false,
  record: { version: `v${at}` },
  ...more,
})
const deleted = (at: number) => written(at, '', { verb: 'DEL', outcome: 'count', record: undefined })
const recovered = (at: number, ...values: [value: string, version: string][]): JournalLine => ({
  type: 'recovered',
  at,
  time: at,
  keys: values.map(([value, version]) => ({ key: KEY, value, version })),
})
const ended = (value: string, outcome: string, more: Partial<EndedWrite> = {}): EndedWrite => ({
  client: 'c0',
  verb: 'SET',
  key: KEY,
  value,
  outcome,
  version: undefined,
  expires: false,
  at: 0,
  ...more,
})

async function violationsOf(lines: readonly JournalLine[], writes: readonly EndedWrite[]): Promise<string> {
  const violations = new Violations()
  const history = new StoreHistory(violations)
  for (const line of lines) history.add(line)
  await checkWrites(
    (async function* () {
      yield* writes
    })(),
    history,
    violations,
  )
  return violations.lines.join('\n')
}

const applied = ended(FIRST, 'applied', { version: 'v1' })

describe('the judge of writes', () => {
  it('the judge accepts writes, deletions and expiries that the store answered', async () => {
    const expiring = ended(SECOND, 'applied', { version: 'v3', expires: true })
    const lines: JournalLine[] = [
      written(1, FIRST),
      deleted(2),
      { type: 'deleted', at: 2, time: 2, key: KEY, version: 'v2' },
      written(3, SECOND, { record: { version: 'v3', expiresAt: 4 } }),
      { type: 'expired', at: 4, time: 4, key: KEY, version: 'v4' },
      recovered(5),
    ]
    expect(await violationsOf(lines, [applied, ended('', 'applied', { verb: 'DEL' }), expiring])).toBe('')
  })

  it('the judge rejects an acknowledged write that a store has not recovered', async () => {
    expect(await violationsOf([written(1, FIRST), recovered(2)], [applied])).toMatch(/lost: chaos\/1 was found missing/)
  })

  it('the judge accepts a missing key if the outcome of its deletion is unknown', async () => {
    const deletion = ended('', 'outcome-unknown', { verb: 'DEL' })
    expect(await violationsOf([written(1, FIRST), recovered(2)], [applied, deletion])).toBe('')
  })

  it('the judge accepts a recovered write only if its outcome is unknown', async () => {
    const lines = [written(1, FIRST), recovered(3, [SECOND, 'v2'])]
    expect(await violationsOf(lines, [applied, ended(SECOND, 'outcome-unknown')])).toBe('')
    expect(await violationsOf(lines, [applied, ended(SECOND, 'timeout')])).toMatch(/ended as timeout, and reached/)
  })

  it('the judge rejects an acknowledged write that never reached the store', async () => {
    expect(await violationsOf([], [applied])).toMatch(/ended as applied, and reached a store 0 times/)
  })

  it('the judge rejects a write that reached the store twice', async () => {
    expect(await violationsOf([written(1, FIRST), written(2, FIRST)], [applied])).toMatch(/reached a store 2 times/)
  })

  it('the judge rejects a write that was never sent', async () => {
    expect(await violationsOf([written(1, FIRST)], [])).toMatch(/reached a store but was never sent/)
  })

  it('the judge rejects a response whose version differs from the version in the store', async () => {
    const wrong = ended(FIRST, 'applied', { version: 'v9' })
    expect(await violationsOf([written(1, FIRST)], [wrong])).toMatch(/does not have version v9/)
  })

  it('the judge rejects a write whose condition did not hold', async () => {
    const lines = [written(1, FIRST), written(2, SECOND, { condition: 'NX' })]
    const writes = [applied, ended(SECOND, 'applied', { version: 'v2' })]
    expect(await violationsOf(lines, writes)).toMatch(/a condition held against/)
  })

  it('the judge rejects the expiry of a key without a time to live', async () => {
    const lines: JournalLine[] = [written(1, FIRST), { type: 'expired', at: 2, time: 2, key: KEY, version: 'v2' }]
    expect(await violationsOf(lines, [applied])).toMatch(/expired although/)
  })

  it('the judge rejects a key that expires early, and one that a store recovers after its expiry', async () => {
    const record = { version: 'v1', expiresAt: 1_000 }
    const expiring = written(1, FIRST, { record })
    const expired = (time: number): JournalLine => ({ type: 'expired', at: 2, time, key: KEY, version: 'v2' })
    const later = (time: number, ...keys: RecoveredKey[]): JournalLine => ({ type: 'recovered', at: 2, time, keys })
    const key = { key: KEY, value: FIRST, ...record }
    expect(await violationsOf([expiring, expired(999)], [applied])).toMatch(/expired although/)
    expect(await violationsOf([expiring, later(999)], [applied])).toMatch(/lost/)
    expect(await violationsOf([expiring, later(1_000)], [applied])).toBe('')
    expect(await violationsOf([expiring, later(1_000, key)], [applied])).toBe('')
    expect(await violationsOf([expiring, later(2_000, key)], [applied])).toMatch(/recovered 1000 ms after its expiry/)
  })

  it('the judge rejects a key that a store recovers with another value, expiry or fencing token', async () => {
    const record = { version: 'v1', expiresAt: 1_000, fencingToken: '5:0:c0' }
    const key = { key: KEY, value: FIRST, ...record }
    const onFound = async (found: RecoveredKey): Promise<string> =>
      violationsOf([written(1, FIRST, { record }), { type: 'recovered', at: 2, time: 2, keys: [found] }], [applied])
    expect(await onFound(key)).toBe('')
    expect(await onFound({ ...key, value: SECOND })).toMatch(/recovered: chaos/)
    expect(await onFound({ ...key, expiresAt: 1_001 })).toMatch(/recovered: chaos/)
    expect(await onFound({ ...key, expiresAt: undefined })).toMatch(/recovered: chaos/)
    expect(await onFound({ ...key, fencingToken: undefined })).toMatch(/recovered: chaos/)
  })

  it('the judge rejects writes of one client that arrive in another order', async () => {
    const lines = [written(1, SECOND), written(2, FIRST)]
    const writes = [ended(FIRST, 'applied', { version: 'v2' }), ended(SECOND, 'applied', { version: 'v1' })]
    expect(await violationsOf(lines, writes)).toMatch(/order of writes: c0.0.0.0 arrived after number 1/)
  })
})
