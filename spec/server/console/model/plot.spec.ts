import { describe, expect, it } from 'vitest'
import { axisOf, gapsOf, linePath, sampleAt, scaleOf, ticksOf } from '../../../../console/src/model/plot.js'

const PERIOD = 10_000
const END = 3_600_000
const axis = { end: END, period: PERIOD }
/** Returns samples by their distance from the end of the axis, in periods. */
const samplesAt = (values: Readonly<Record<number, number | undefined>>) =>
  Object.entries(values)
    .map(([periods, value]) => ({ at: END - Number(periods) * PERIOD, value }))
    .sort((a, b) => a.at - b.at)
const read = ({ value }: { readonly value: number | undefined }) => value

describe('The line of a plot', () => {
  it('a line connects successive samples, from the bottom for 0 to the top for the scale', () => {
    expect(linePath(samplesAt({ 2: 0, 1: 5, 0: 10 }), read, 10, axis)).toBe('M358 100h0L359 50L360 0')
  })

  it('a line is interrupted at an unknown value', () => {
    expect(linePath(samplesAt({ 2: 0, 1: undefined, 0: 10 }), read, 10, axis)).toBe('M358 100h0M360 0h0')
  })

  it('a line is interrupted where samples are missing, but not for a late sample', () => {
    expect(linePath(samplesAt({ 3: 0, 0: 10 }), read, 10, axis)).toBe('M357 100h0M360 0h0')
    expect(linePath(samplesAt({ 1.9: 0, 0: 10 }), read, 10, axis)).toBe('M358.1 100h0L360 0')
  })

  it('a line begins with the axis', () => {
    expect(linePath(samplesAt({ 361: 0, 360: 0 }), read, 10, axis)).toBe('M0 100h0')
  })
})

describe('The gaps of a plot', () => {
  it('a plot without samples is one gap', () => {
    expect(gapsOf([], axis)).toEqual([{ x: 0, width: 360 }])
  })

  it('gaps are before the first sample, where samples are missing, and after the last sample', () => {
    const samples = samplesAt({ 100: 1, 99: 1, 50: 1, 49: 1, 10: 1 })
    expect(gapsOf(samples, axis)).toEqual([
      { x: 0, width: 259 },
      { x: 261, width: 48 },
      { x: 311, width: 38 },
      { x: 350, width: 10 },
    ])
  })

  it('a filled plot has no gaps', () => {
    expect(gapsOf(samplesAt(Object.fromEntries(Array.from({ length: 361 }, (_, n) => [n, 1]))), axis)).toEqual([])
  })
})

describe('The axes of a plot', () => {
  it('the time ends with the newest sample, and continues when samples are missing', () => {
    expect(axisOf({ at: 50_000 }, PERIOD, 50_000)).toEqual({ end: 50_000, period: PERIOD })
    expect(axisOf({ at: 50_000 }, PERIOD, 79_999)).toEqual({ end: 50_000, period: PERIOD })
    expect(axisOf({ at: 50_000 }, PERIOD, 95_000)).toEqual({ end: 90_000, period: PERIOD })
    expect(axisOf(undefined, PERIOD, 95_000)).toEqual({ end: 90_000, period: PERIOD })
  })

  it('the scale ends with a round number', () => {
    expect([0.1, 0.11, 0.3, 1, 1.2, 4.1, 95, 100, 4_513].map(scaleOf)).toEqual([
      0.1, 0.2, 0.4, 1, 2, 5, 100, 100, 5_000,
    ])
  })

  it('the ticks are quarter hours', () => {
    const ticks = ticksOf({ end: Date.UTC(2026, 0, 1, 12, 6), period: PERIOD })
    expect(ticks.map(({ at }) => new Date(at).getUTCMinutes())).toEqual([15, 30, 45, 0])
    expect(ticks.map(({ percent }) => percent)).toEqual([15, 40, 65, 90])
  })

  it('the sample at a time is the one whose period contains this time', () => {
    const samples = samplesAt({ 5: 1, 4.1: 2, 0: 3 })
    expect([5, 4.1, 4.2, 4, 3, 1, 0].map(n => sampleAt(samples, END - n * PERIOD, axis)?.value)).toEqual([
      1,
      2,
      2,
      undefined,
      undefined,
      3,
      3,
    ])
  })
})
