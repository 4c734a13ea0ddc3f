import { describe, expect, it } from 'vitest'
import { fitColumns } from '../../src/cli/terminal.js'

const beside = { op: 6, time: 12, version: 26 }

describe('fitColumns', () => {
  it('shows all columns and complete values without a terminal', () => {
    expect(fitColumns(undefined, 10, beside)).toEqual({
      columns: new Set(['op', 'time', 'version']),
      keyWidth: 10,
      valueWidth: Infinity,
    })
  })

  it.each([
    [120, ['op', 'time', 'version'], 58],
    [70, ['op', 'time'], 36],
    [50, ['op'], 30],
    [40, [], 28],
  ])('reserves space for the value in %i columns', (columns, visibleColumns, valueWidth) => {
    expect(fitColumns(columns, 10, beside)).toEqual({ columns: new Set(visibleColumns), keyWidth: 10, valueWidth })
  })

  it.each([
    [80, 54, 24],
    [40, 20, 18],
    [10, 5, 3],
  ])('shortens a key of 100 characters in %i columns', (columns, keyWidth, valueWidth) => {
    expect(fitColumns(columns, 100, beside)).toEqual({ columns: new Set(), keyWidth, valueWidth })
  })

  it('omits columns that have no width', () => {
    expect(fitColumns(undefined, 10, { ...beside, op: undefined }).columns).toEqual(new Set(['time', 'version']))
  })
})
