import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isBranch,
  listRows,
  parentOf,
  pathsOf,
  type TreeRow,
  treeRows,
} from '../../../../console/src/model/key-tree.js'
import { type ListedKey, sortByName, toListedKey } from '../../../../console/src/model/listed-key.js'
import { toHex, utf8 } from '../../../../src/core/util/bytes.js'

const keys = (...names: string[]): readonly ListedKey[] => sortByName(names.map(name => toListedKey(toHex(utf8(name)))))
const drawn = (rows: readonly TreeRow[]): readonly string[] =>
  rows.map(row => {
    const line = isBranch(row) ? `${row.isOpen ? 'v' : '>'} ${row.label} ${row.keys}` : row.label
    return '  '.repeat(row.level - 1) + line
  })

const SENSORS = keys('line-10/state', 'line-9/state', 'sensor/a/x', 'sensor/a/y', 'sensor/b', 'zz', 'sensor')

describe('The tree of keys', () => {
  it('the tree starts with common prefixes and their key counts', () => {
    expect(drawn(treeRows(SENSORS, () => false))).toEqual([
      '> line-9/ 1',
      '> line-10/ 1',
      'sensor',
      '> sensor/ 3',
      'zz',
    ])
  })

  it('open branches show their contents', () => {
    expect(drawn(treeRows(SENSORS, path => path === 'sensor/'))).toEqual([
      '> line-9/ 1',
      '> line-10/ 1',
      'sensor',
      'v sensor/ 3',
      '  > a/ 2',
      '  b',
      'zz',
    ])
  })

  it('a branch that contains only another branch is merged with it into one row', () => {
    const rows = treeRows(keys('a/b/c/d', 'a/b/c/e'), () => true)
    expect(drawn(rows)).toEqual(['v a/b/c/ 2', '  d', '  e'])
    expect(rows.filter(isBranch).map(({ paths }) => paths)).toEqual([['a/', 'a/b/', 'a/b/c/']])
  })

  it('a trailing slash belongs to the name, and binary keys have no branches', () => {
    expect(pathsOf(toListedKey(toHex(utf8('a/b/'))))).toEqual(['a/'])
    expect(pathsOf(toListedKey(toHex(utf8('/'))))).toEqual([])
    expect(pathsOf(toListedKey('FF2F00'))).toEqual([])
    expect(drawn(treeRows(keys('/a', '//'), () => true))).toEqual(['v / 2', '  /', '  a'])
  })

  it('the depth of the tree is limited, even for a key with very many levels', () => {
    const [row] = treeRows(keys('x/'.repeat(20_000)), () => false)
    expect(row && isBranch(row) ? row.paths.length : 0).toBe(12)
  })

  it('every key occurs once, regardless of which branches are open', () => {
    const name = fc.array(fc.constantFrom('a', 'b', '/', 'c/'), { minLength: 1 }).map(parts => parts.join(''))
    fc.assert(
      fc.property(fc.uniqueArray(name), fc.func(fc.boolean()), (names, isOpen) => {
        const all = keys(...names)
        const rows = treeRows(all, path => isOpen(path))
        const top = rows.filter(({ level }) => level === 1)
        expect(top.reduce((sum, row) => sum + (isBranch(row) ? row.keys : 1), 0)).toBe(all.length)
        const ids = treeRows(all, () => true).flatMap(row => (isBranch(row) ? [] : [row.id]))
        expect(new Set(ids)).toEqual(new Set(all.map(({ id }) => id)))
        expect(ids).toHaveLength(all.length)
        for (const [at, { level, position, setSize }] of rows.entries()) {
          const parent = rows[parentOf(rows, at)]
          expect([parent?.level ?? 0, position <= setSize]).toEqual([level - 1, true])
        }
      }),
    )
  })

  it('a tree of twenty thousand keys is built', { tags: 'slow' }, () => {
    const many = Array.from({ length: 20_000 }, (_, i) =>
      toListedKey(toHex(utf8(`site-${i % 20}/line-${i % 400}/sensor/${i}`))),
    )
    expect(treeRows(many, () => false)).toHaveLength(20)
    expect(treeRows(many, () => true).length).toBeGreaterThan(20_000)
    expect(listRows(many)).toHaveLength(20_000)
  })
})
