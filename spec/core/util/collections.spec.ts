import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CountedFifo, Fifo, SlotMap } from '../../../src/core/util/collections.js'

describe('Fifo', () => {
  it('returns items in the order of insertion', () => {
    const line = new Fifo<number>()
    for (const item of [1, 2, 3]) line.push(item)
    expect([line.peek(), line.shift(), line.shift(), line.length, line.shift(), line.shift()]).toEqual([
      1,
      1,
      2,
      1,
      3,
      undefined,
    ])
  })

  it('behaves like an array', () => {
    const operation = fc.oneof(
      fc.nat().map(item => ({ item })),
      fc.constant('shift' as const),
      fc.constant('clear' as const),
    )
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), operations => {
        const line = new Fifo<number>()
        const model: number[] = []
        for (const next of operations) {
          if (next === 'shift') expect(line.shift()).toBe(model.shift())
          else if (next === 'clear') {
            line.clear()
            model.length = 0
          } else {
            line.push(next.item)
            model.push(next.item)
          }
          expect([line.length, line.peek()]).toEqual([model.length, model[0]])
        }
      }),
    )
  })
})

it('CountedFifo reports every change of its total size', () => {
  const operation = fc.oneof(fc.string(), fc.constantFrom(1 as const, 2 as const))
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 100 }), operations => {
      let reportedSize = 0
      const line = new CountedFifo<string>(
        ({ length }) => length,
        by => {
          reportedSize += by
        },
      )
      const model: string[] = []
      for (const next of operations) {
        if (next === 1) expect(line.shift()).toBe(model.shift())
        else if (next === 2) {
          line.clear()
          model.length = 0
        } else {
          line.push(next)
          model.push(next)
        }
        const size = model.join('').length
        expect([line.length, line.size, reportedSize]).toEqual([model.length, size, size])
      }
    }),
  )
})

describe('SlotMap', () => {
  it('holds the items that were added and not deleted, each under a unique number', () => {
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

  it('reuses the numbers of deleted items', () => {
    const slots = new SlotMap<object>()
    for (let i = 0; i < 1_000; i++) {
      const [a, b] = [slots.add({}), slots.add({})]
      expect(Math.max(a, b)).toBe(1)
      slots.delete(a)
      slots.delete(b)
    }
  })

  it('clear removes all items', () => {
    const slots = new SlotMap<object>()
    slots.add({})
    slots.clear()
    expect([slots.size, slots.values, slots.get(0), slots.add({})]).toEqual([0, [], undefined, 0])
  })
})
