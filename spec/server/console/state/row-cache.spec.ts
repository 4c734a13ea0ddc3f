import { beforeEach, describe, expect, it } from 'vitest'
import { toListedKey } from '../../../../console/src/model/listed-key.js'
import { EMPTY_ROW, MAX_ROWS, type Row, RowCache } from '../../../../console/src/state/row-cache.js'
import { type Entry, Hlc } from '../../../../src/client/index.js'
import { toHex, utf8 } from '../../../../src/core/util/bytes.js'

const A = toListedKey(toHex(utf8('a')))
const B = toListedKey(toHex(utf8('b')))
const FACTS = { version: '1:0:S', size: 1, watchers: 1 }

const set = (value: string, at: number): Entry<Uint8Array> => ({
  key: 'a',
  op: 'set',
  value: utf8(value),
  version: new Hlc(at, 0, 'S'),
  source: 'notification',
})

let book: RowCache
const row = (): Row | undefined => book.rows.get(A.id)

beforeEach(() => {
  book = new RowCache()
  book.makeRoomFor([A, B])
})

describe('RowCache', () => {
  it('rows are empty until their first entry', () => {
    expect(row()).toBe(EMPTY_ROW)
    book.setEntry(A.id, set('1', 1), 10_000)
    expect(row()).toMatchObject({ changes: 0, preview: { kind: 'number', line: '1' }, changeTimes: { sets: [] } })
  })

  it('rows count the changes after their first entry', () => {
    book.setEntry(A.id, set('1', 1), 10_000)
    book.setEntry(A.id, set('2', 2), 20_000)
    expect(row()).toMatchObject({ changes: 1, preview: { line: '2' }, changeTimes: { sets: [20_000] } })
    book.setEntry(A.id, { ...set('', 3), op: 'delete', value: undefined, reason: 'deleted' }, 30_000)
    expect(row()).toMatchObject({ changes: 2, entry: { op: 'delete' }, changeTimes: { deletes: [30_000] } })
    expect(row()).not.toHaveProperty('shown')
  })

  it('a row keeps the expiry of its last value when the value is gone', () => {
    book.setEntry(A.id, set('1', 1), 10_000)
    book.setFacts([A.id], [{ ...FACTS, id: A.id, expiresAt: 12_000 }])
    book.setEntry(A.id, { ...set('', 3), op: 'delete', value: undefined, reason: 'unknown' }, 12_000)
    book.setFacts([A.id], [])
    expect(row()).toMatchObject({ expiresAt: 12_000 })
    book.setEntry(A.id, set('2', 4), 13_000)
    expect(row()).not.toHaveProperty('expiresAt')
  })

  it('watching the key of a row again does not count as a change', () => {
    book.setEntry(A.id, set('1', 1), 10_000)
    book.makeRoomFor([B])
    book.makeRoomFor([A, B])
    book.setEntry(A.id, set('1', 1), 20_000)
    expect(row()).toMatchObject({ changes: 0, changeTimes: { sets: [] } })
  })

  it('entries of keys that are not displayed are ignored', () => {
    book.setEntry('FF', set('1', 1), 0)
    book.setFacts(['FF'], [{ ...FACTS, id: 'FF' }])
    expect(book.rows.has('FF')).toBe(false)
  })

  it('rows have the latest details of their keys, and none after the key was deleted', () => {
    book.setFacts([A.id, B.id], [{ ...FACTS, id: A.id, expiresAt: 5 }])
    book.setEntry(A.id, set('1', 1), 0)
    expect(row()?.facts).toEqual({ ...FACTS, id: A.id, expiresAt: 5 })
    expect(book.rows.get(B.id)).not.toHaveProperty('facts')
    book.setFacts([A.id], [])
    expect(row()).not.toHaveProperty('facts')
    expect(row()?.preview?.line).toBe('1')
  })

  it('rows that are no longer displayed are kept, up to a limit', () => {
    book.setEntry(A.id, set('1', 1), 0)
    const others = Array.from({ length: MAX_ROWS - 1 }, (_, i) => toListedKey(toHex(utf8(`other ${i}`))))
    book.makeRoomFor(others.slice(0, -2))
    expect(row()?.preview?.line).toBe('1')
    book.makeRoomFor(others)
    expect(row()).toBeUndefined()
    expect(book.rows.size).toBe(MAX_ROWS)
  })
})
