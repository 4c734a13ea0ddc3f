import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ALLOWED, allowanceOf } from '../../sweep/allowed.js'
import { lesser, sharesOf } from '../../sweep/bounds.js'
import { withSweep } from '../../sweep/document.js'
import { ROWS } from '../../sweep/rows.js'

const names = ROWS.map(({ name }) => name)

describe('the sweep', () => {
  it('has the rows that its document lists (npm run sweep -- --document writes them)', () => {
    const text = readFileSync('docs/internals/attacks.md', 'utf8')
    expect(withSweep(text)).toBe(text)
  })

  it('has rows with unique names', () => {
    expect(new Set(names).size).toBe(names.length)
  })

  it('permits excesses of existing rows only', () => {
    expect(ALLOWED.filter(({ rows }) => !names.some(name => rows.test(name)))).toEqual([])
  })

  it('permits no other row to exceed a bound', () => {
    expect(allowanceOf('PINGREQ', 'step')).toEqual({ share: 1, reason: '' })
  })

  it('scales bounds of time but not of memory by the speed of the machine', () => {
    const measured = { sentBytes: 0, frames: 10, cpuMs: 20, longestStepMs: 20, heldBytes: 0 }
    expect([sharesOf(measured, 1), sharesOf(measured, 2)]).toEqual([
      { step: 2, cpu: 2, held: 0 },
      { step: 1, cpu: 1, held: 0 },
    ])
  })

  it('counts the best value of each bound', () => {
    expect(lesser({ step: 1, cpu: 2, held: 3 }, { step: 3, cpu: 2, held: 1 })).toEqual({ step: 1, cpu: 2, held: 1 })
  })
})
