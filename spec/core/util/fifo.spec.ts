import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CountedFifo, Fifo } from '../../../src/core/util/fifo.js'

describe('a fifo', () => {
  it('gives what came first, first', () => {
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

  it('behaves as an array does', () => {
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

it('knows how much is in a counted fifo, and tells whoever shares room with it', () => {
  const operation = fc.oneof(fc.string(), fc.constantFrom(1 as const, 2 as const))
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 100 }), operations => {
      let told = 0
      const line = new CountedFifo<string>(
        ({ length }) => length,
        by => {
          told += by
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
        expect([line.length, line.size, told]).toEqual([model.length, size, size])
      }
    }),
  )
})
