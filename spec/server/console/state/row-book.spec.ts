import { beforeEach, describe, expect, it } from 'vitest'
import { listed } from '../../../../console/src/model/listed-key.js'
import { BLANK, MOST_ROWS, type Row, RowCache } from '../../../../console/src/state/row-book.js'
import { type Entry, Hlc } from '../../../../src/client/index.js'
import { toHex, utf8 } from '../../../../src/core/util/bytes.js'

const A = listed(toHex(utf8('a')))
const B = listed(toHex(utf8('b')))
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
  book.keep([A, B])
})

describe('The rows of the list', () => {
  it('are blank until something is heard of them', () => {
    expect(row()).toBe(BLANK)
    book.heard(A.id, set('1', 1), 10_000)
    expect(row()).toMatchObject({ changes: 0, shown: { kind: 'number', line: '1' }, beats: { sets: [] } })
  })

  it('count what changes from then on', () => {
    book.heard(A.id, set('1', 1), 10_000)
    book.heard(A.id, set('2', 2), 20_000)
    expect(row()).toMatchObject({ changes: 1, shown: { line: '2' }, beats: { sets: [20_000] } })
    book.heard(A.id, { ...set('', 3), op: 'delete', value: undefined, reason: 'deleted' }, 30_000)
    expect(row()).toMatchObject({ changes: 2, entry: { op: 'delete' }, beats: { deletes: [30_000] } })
    expect(row()).not.toHaveProperty('shown')
  })

  it('do not take for a change what is watched again', () => {
    book.heard(A.id, set('1', 1), 10_000)
    book.keep([B])
    book.keep([A, B])
    book.heard(A.id, set('1', 1), 20_000)
    expect(row()).toMatchObject({ changes: 0, beats: { sets: [] } })
  })

  it('know nothing of keys that nobody wants to see', () => {
    book.heard('FF', set('1', 1), 0)
    book.learnt(['FF'], [{ ...FACTS, id: 'FF' }])
    expect(book.rows.has('FF')).toBe(false)
  })

  it('have the facts they were given last, and none of keys that are gone', () => {
    book.learnt([A.id, B.id], [{ ...FACTS, id: A.id, expiresAt: 5 }])
    book.heard(A.id, set('1', 1), 0)
    expect(row()?.facts).toEqual({ ...FACTS, id: A.id, expiresAt: 5 })
    expect(book.rows.get(B.id)).not.toHaveProperty('facts')
    book.learnt([A.id], [])
    expect(row()).not.toHaveProperty('facts')
    expect(row()?.shown?.line).toBe('1')
  })

  it('are remembered after they were seen, but not for ever', () => {
    book.heard(A.id, set('1', 1), 0)
    const others = Array.from({ length: MOST_ROWS - 1 }, (_, i) => listed(toHex(utf8(`other ${i}`))))
    book.keep(others.slice(0, -2))
    expect(row()?.shown?.line).toBe('1')
    book.keep(others)
    expect(row()).toBeUndefined()
    expect(book.rows.size).toBe(MOST_ROWS)
  })
})
