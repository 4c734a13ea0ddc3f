import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Fate } from '../../src/client/optimistic/aftermath.js'
import type { Content } from '../../src/client/optimistic/condition.js'
import type { Fact, Lesson, Truth } from '../../src/client/optimistic/truth.js'
import type { Chances } from '../../src/client/optimistic/waiting.js'
import type { Write } from '../../src/client/optimistic/write.js'
import { some } from '../support/effort.js'
import { optimisticScheduleOf } from './optimistic-schedule.js'
import { simulateOptimistic } from './optimistic-world.js'
import { seedsFrom } from './seeds-from.js'

type Learn = (truth: Truth, fact: Fact) => Lesson

interface Mutation {
  readonly learn?: (original: Learn, truth: Truth, fact: Fact) => Lesson | undefined
  readonly fateOf?: (fate: Fate | undefined, isOver: boolean) => Fate | undefined
  readonly contentOf?: (content: Content<unknown>) => Content<unknown>
  readonly age?: (age: number) => number
  readonly chances?: Partial<Pick<Chances<unknown>, 'isBusy'>>
  readonly waiting?: (write: Pick<Write<unknown>, 'approved' | 'stored' | 'seen' | 'late'>) => void
}

const switchedOff = vi.hoisted((): { mutation: Mutation } => ({ mutation: {} }))

vi.mock('../../src/client/optimistic/truth.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/optimistic/truth.js')>()
  const learn: Learn = (truth, fact) =>
    switchedOff.mutation.learn?.(original.learn, truth, fact) ?? original.learn(truth, fact)
  return { ...original, learn }
})

vi.mock('../../src/client/optimistic/aftermath.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/optimistic/aftermath.js')>()
  const fateOf: typeof original.fateOf = (write, truth, isOver) => {
    const fate = original.fateOf(write, truth, isOver)
    return switchedOff.mutation.fateOf ? switchedOff.mutation.fateOf(fate, isOver) : fate
  }
  return { ...original, fateOf }
})

vi.mock('../../src/client/optimistic/condition.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/optimistic/condition.js')>()
  const contentOf: typeof original.contentOf = (...parts) => {
    const content = original.contentOf(...parts)
    const mutated = switchedOff.mutation.contentOf?.(content)
    return mutated ? { value: content.value, condition: mutated.condition } : content
  }
  return { ...original, contentOf }
})

vi.mock('../../src/client/optimistic/write.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/optimistic/write.js')>()
  class Mutant<T> extends original.Write<T> {
    override age(clock: Parameters<Write<T>['age']>[0]): number {
      const age = super.age(clock)
      return switchedOff.mutation.age?.(age) ?? age
    }
  }
  const writeOf: typeof original.writeOf = (source, value, upon) => {
    const { id, own } = original.writeOf(source, value, upon)
    return new Mutant(value, { id, own, ...upon }, source.host.registry.clock)
  }
  return { ...original, Write: Mutant, writeOf }
})

vi.mock('../../src/client/optimistic/waiting.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/optimistic/waiting.js')>()
  class Waiting<T> extends original.Waiting<T> {
    override next(chances: Chances<T>): Write<T> | undefined {
      const { mutation } = switchedOff
      if (this.write) mutation.waiting?.(this.write)
      return super.next({ ...chances, ...mutation.chances })
    }
  }
  return { ...original, Waiting }
})

const MUTATIONS: Record<string, Mutation> = {
  'older notifications believed': {
    learn: (original, truth, fact) =>
      fact.type === 'told' ? original({ ...truth, floor: undefined }, fact) : undefined,
  },
  'answers of an earlier connection believed': {
    learn: (original, truth, fact) =>
      fact.type === 'written' ? original(truth, { ...fact, from: { ...fact.from, epoch: truth.epoch } }) : undefined,
  },
  'answers believed that were overtaken': {
    learn: (original, truth, fact) =>
      fact.type === 'written' ? original({ ...truth, floor: undefined }, fact) : undefined,
  },
  'versions compared across connections': {
    learn: (original, truth, fact) =>
      fact.type === 'lost'
        ? { truth: { ...original(truth, fact).truth, floor: truth.floor }, doubt: false }
        : undefined,
  },
  'own writes that nobody tells of not read again': {
    learn: (original, truth, fact) => {
      const { truth: next, doubt } = original(truth, fact)
      return { truth: { ...next, ahead: false }, doubt }
    },
  },
  'an unknown outcome taken for done': { fateOf: () => 'written' },
  'an unknown outcome taken for not done': { fateOf: fate => fate ?? 'not written' },
  'an unknown outcome never decided': { fateOf: (fate, isOver) => (isOver ? undefined : fate) },
  'conditions left out': { contentOf: ({ value }) => ({ value, condition: undefined }) },
  'writes that never grow old': { age: () => 0 },
  'late writes sent without asking': {
    waiting: write => {
      write.approved = true
    },
  },
  'late writes sent without taking them out of the storage': {
    waiting: write => {
      write.stored = false
    },
  },
  'several writes under way': { chances: { isBusy: false } },
}

const MOST_SCHEDULES = 6_000
/** Where those show that few schedules show. */
const SHOWN: Readonly<Record<string, number>> = { 'own writes that nobody tells of not read again': 3_045 }

/** The first schedule to which somebody objects, and the objection. */
function caughtAt(first = 1): { seed: number; objection: string } | undefined {
  for (const seed of seedsFrom(first, MOST_SCHEDULES)) {
    const [objection] = simulateOptimistic(optimisticScheduleOf(seed)).violations
    if (objection !== undefined) return { seed, objection }
  }
  return undefined
}

describe('the oracle objects when a safeguard of optimistic writes is switched off', () => {
  afterEach(() => {
    switchedOff.mutation = {}
  })

  it.each(some(Object.entries(MUTATIONS), 4))('%s', { timeout: 120_000 }, (name, mutation) => {
    switchedOff.mutation = mutation
    const caught = caughtAt(SHOWN[name])
    console.info(`${name}: caught at seed ${caught?.seed}: ${caught?.objection}`)
    expect(caught).toBeDefined()
  })
})
