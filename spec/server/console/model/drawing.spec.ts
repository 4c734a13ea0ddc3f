import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addChangeTime, dotsPath, NO_CHANGE_TIMES, WINDOW_MS } from '../../../../console/src/model/change-times.js'
import { spark } from '../../../../console/src/model/spark.js'
import { currentRow, rowTops, scrollToShow, visibleRows } from '../../../../console/src/model/window.js'

describe('Visible rows', () => {
  const even = (count: number) => rowTops(Array.from({ length: count }), () => 34)
  const viewport = { scrollTop: 0, height: 340, tops: even(2_000) }

  it('are the rows in the viewport and some rows around it', () => {
    expect(visibleRows(viewport)).toEqual({ first: 0, end: 16 })
    expect(visibleRows({ ...viewport, scrollTop: 3_400 })).toEqual({ first: 94, end: 116 })
    expect(visibleRows({ ...viewport, scrollTop: 3_410 }, 0)).toEqual({ first: 100, end: 111 })
  })

  it('end at the end of the list', () => {
    expect(visibleRows({ ...viewport, scrollTop: 67_660 })).toEqual({ first: 1_984, end: 2_000 })
    expect(visibleRows({ ...viewport, tops: even(3) })).toEqual({ first: 0, end: 3 })
  })

  it('a list that is empty or shorter than the scroll position has no visible rows', () => {
    expect(visibleRows({ ...viewport, tops: even(0) })).toEqual({ first: 0, end: 0 })
    expect(visibleRows({ ...viewport, scrollTop: 60_000, tops: even(10) })).toEqual({ first: 4, end: 10 })
  })

  it('every row in the viewport is visible', () => {
    const numbers = { scrollTop: fc.integer({ min: -50, max: 90_000 }), height: fc.integer({ min: 0, max: 2_000 }) }
    fc.assert(
      fc.property(fc.record({ ...numbers, rows: fc.array(fc.constantFrom(34, 44, 78)) }), one => {
        const { scrollTop, height, rows } = one
        const tops = rowTops(rows, row => row)
        const { first, end } = visibleRows({ scrollTop, height, tops })
        expect(0 <= first && first <= end && end <= rows.length).toBe(true)
        expect(end - first).toBeLessThanOrEqual(Math.ceil(height / 34) + 14)
        const seen = Array.from(rows, (_, row) => row).filter(
          row => (tops[row + 1] ?? 0) > Math.max(0, scrollTop) && (tops[row] ?? 0) < scrollTop + height,
        )
        expect(seen.every(row => first <= row && row < end)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  it('scrolling to a row moves the viewport by the shortest distance', () => {
    const scrolled = { ...viewport, scrollTop: 340 }
    expect(scrollToShow(12, scrolled)).toBe(340)
    expect(scrollToShow(9, scrolled)).toBe(306)
    expect(scrollToShow(20, scrolled)).toBe(374)
  })
})

describe('The active row', () => {
  const rows = (ids: string): readonly { readonly id: string }[] => Array.from(ids, id => ({ id }))

  it('follows its key when other rows change', () => {
    expect(currentRow(rows('abc'), 'b', 0)).toBe(1)
    expect(currentRow(rows('0123abc'), 'b', 1)).toBe(5)
  })

  it('removing the active key activates the row at its index, unless the list is empty', () => {
    expect(currentRow(rows('acd'), 'b', 1)).toBe(1)
    expect(currentRow(rows('ab'), 'c', 2)).toBe(1)
    expect(currentRow([], 'a', 0)).toBe(-1)
  })
})

describe('Marbles', () => {
  it('changes in quick succession share a marble', () => {
    const beats = [1_000, 1_900, 2_600, 9_000].reduce((times, at) => addChangeTime(times, 'set', at), NO_CHANGE_TIMES)
    expect(beats).toEqual({ sets: [0, 2_500, 7_500], deletes: [] })
  })

  it('SETs and deletions have separate marbles', () => {
    expect(addChangeTime(addChangeTime(NO_CHANGE_TIMES, 'set', 0), 'delete', 0)).toEqual({ sets: [0], deletes: [0] })
  })

  it('are dropped after a minute', () => {
    const times = Array.from({ length: 10_000 }, (_, i) => i * 100)
    const { sets } = times.reduce((times, at) => addChangeTime(times, 'set', at), NO_CHANGE_TIMES)
    expect(sets.length).toBeLessThanOrEqual(WINDOW_MS / 2_500 + 1)
  })

  it('move left until they leave the line', () => {
    expect(dotsPath([10_000], 10_000, 128, 8, 4)).toBe('M124 8h0')
    expect(dotsPath([10_000], 40_000, 128, 8, 4)).toBe('M64 8h0')
    expect(dotsPath([10_000], 70_000, 128, 8, 4)).toBe('')
  })
})

describe('Sparklines', () => {
  it('the newest value is drawn at the right, and the highest value at the top', () => {
    expect(spark([0, 10, 5], 11, 100, 20, 4)).toEqual({
      line: 'M80 20L90 0L100 10',
      area: 'M80 20L90 0L100 10L100 20L80 20Z',
      highest: 10,
    })
  })

  it('small values do not fill the height', () => {
    expect(spark([1], 11, 100, 20, 4)).toMatchObject({ line: 'M100 15', highest: 4 })
  })

  it('only the newest values that fit are drawn', () => {
    expect(spark([9, 8, 1, 2], 2, 10, 10, 1).line).toBe('M0 5L10 0')
  })

  it('a sparkline without values is empty', () => {
    expect(spark([], 10, 10, 10, 1)).toEqual({ line: '', area: '', highest: 1 })
  })
})
