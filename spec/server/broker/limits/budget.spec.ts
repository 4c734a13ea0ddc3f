import { describe, expect, it } from 'vitest'
import { Budget } from '../../../../src/server/broker/limits/budget.js'

describe('Budget', () => {
  it('gives as much as there is, and no more', () => {
    const budget = new Budget(100)
    expect(budget.take(60)).toBe(true)
    expect(budget.take(41)).toBe(false)
    expect(budget.take(40)).toBe(true)
    expect(budget.used).toBe(100)
    expect(budget.exceeded).toBe(false)
  })

  it('has again what is given back', () => {
    const budget = new Budget(100)
    budget.take(100)
    budget.give(30)
    expect(budget.take(30)).toBe(true)
  })

  it('counts what is taken without asking, and says when that is too much', () => {
    const budget = new Budget(100)
    budget.count(101)
    expect(budget.exceeded).toBe(true)
    expect(budget.take(0)).toBe(false)
    budget.count(-1)
    expect(budget.exceeded).toBe(false)
  })
})
