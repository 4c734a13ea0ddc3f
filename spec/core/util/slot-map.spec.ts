import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SlotMap } from '../../../src/core/util/slot-map.js'

describe('SlotMap', () => {
  it('holds what was put in and not deleted, each under a number of its own', () => {
    const commands = fc.array(fc.oneof(fc.constant('add' as const), fc.nat(20)), { maxLength: 100 })
    fc.assert(
      fc.property(commands, steps => {
        const slots = new SlotMap<{ readonly n: number }>()
        const model = new Map<number, { readonly n: number }>()
        for (const [n, step] of steps.entries()) {
          if (step === 'add') {
            const item = { n }
            const place = slots.add(item)
            expect(model.has(place)).toBe(false)
            model.set(place, item)
          } else expect(slots.delete(step)).toBe(model.delete(step))
          expect(slots.size).toBe(model.size)
        }
        expect(new Set(slots.values)).toEqual(new Set(model.values()))
        for (const [place, item] of model) expect(slots.get(place)).toBe(item)
      }),
    )
  })

  it('uses no more numbers than there were items at a time', () => {
    const slots = new SlotMap<object>()
    for (let i = 0; i < 1_000; i++) {
      const [a, b] = [slots.add({}), slots.add({})]
      expect(Math.max(a, b)).toBe(1)
      slots.delete(a)
      slots.delete(b)
    }
  })

  it('forgets everything', () => {
    const slots = new SlotMap<object>()
    slots.add({})
    slots.clear()
    expect([slots.size, slots.values, slots.get(0), slots.add({})]).toEqual([0, [], undefined, 0])
  })
})
