import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effort } from '../../support/effort.js'
import { type ModelKind, type ModelStep, ReconcileModel } from './reconcile-model.js'

const walk = fc.array(
  fc.record<ModelStep>({
    type: fc.constantFrom(
      ...(['set', 'set', 'delete', 'serve', 'serve', 'answer', 'answer', 'notify', 'notify'] as const),
      ...(['cut', 'loseData', 'rejoin'] as const),
    ),
    n: fc.nat({ max: 5 }),
  }),
  { maxLength: 60 },
)
const flag = fc.boolean()

function walked(kind: ModelKind, steps: readonly ModelStep[]): ReconcileModel {
  const model = new ReconcileModel(kind)
  for (const step of steps) model.apply(step)
  return model
}

describe('a watch on a random walk', () => {
  it('a watch converges even if a store that lost its data reuses versions', () => {
    fc.assert(
      fc.property(flag, flag, flag, walk, (identifiers, positions, collisions, steps) => {
        const model = walked({ identifiers, positions, collisions }, steps)
        expect(model.drain()).toBeLessThan(1_000)
        const { shown, truth } = model.comparableStates
        expect(shown).toBe(truth)
      }),
      { numRuns: effort(5_000, 500) },
    )
  })

  it('a watch emits all changes in the order in which they happened', () => {
    fc.assert(
      fc.property(flag, flag, walk, (identifiers, positions, steps) => {
        const model = walked({ identifiers, positions, collisions: false }, steps)
        model.drain()
        const { positions: places } = model
        expect(places).toEqual(Array.from(new Set(places)).sort((a, b) => a - b))
        expect(places).not.toContain(-1)
      }),
      { numRuns: effort(5_000, 500) },
    )
  })
})
