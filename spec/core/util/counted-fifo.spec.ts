import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CountedFifo } from '../../../src/core/util/counted-fifo.js'

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
