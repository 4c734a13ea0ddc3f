import { EMPTY, mergeMap, type Observable, type ObservableInput } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Content } from '../../src/client/optimistic/condition.js'
import type { Delta } from '../../src/client/shadow/delta.js'
import { some } from '../support/effort.js'
import { shadowScheduleOf } from './shadow-schedule.js'
import { simulateShadows } from './shadow-world.js'

type Merge = (mine: object, theirs?: object, base?: object, changed?: ReadonlySet<string>) => object

interface Mutation {
  readonly merged?: (original: Merge, ...parts: Parameters<Merge>) => object
  readonly follow?: 'at once' | 'deaf'
  readonly isDeafToAnswers?: boolean
  readonly contentOf?: (content: Content<unknown>) => Content<unknown>
}

const switchedOff = vi.hoisted((): { mutation: Mutation } => ({ mutation: {} }))

vi.mock('../../src/client/shadow/fields.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/shadow/fields.js')>()
  const merge: Merge = (...parts) => original.mergedFields(...parts)
  const mergedFields: Merge = (...parts) => switchedOff.mutation.merged?.(merge, ...parts) ?? merge(...parts)
  return { ...original, mergedFields }
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

vi.mock('../../src/client/shadow/delta.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/shadow/delta.js')>()
  const deltas: typeof original.deltas = (both$, reported$) =>
    original.deltas(both$, switchedOff.mutation.isDeafToAnswers ? EMPTY : reported$)
  return { ...original, deltas }
})

vi.mock('../../src/client/shadow/follow.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/shadow/follow.js')>()
  function follow<T extends object, R>(
    delta$: Observable<Delta<T>>,
    apply: (delta: Delta<T>) => ObservableInput<Partial<T>>,
    report: (fields: Partial<T>) => Observable<R>,
  ): Observable<R> {
    const { follow: how } = switchedOff.mutation
    if (how === undefined) return original.follow(delta$, apply, report)
    let isBusy = false
    return delta$.pipe(
      mergeMap(delta => {
        if (Object.keys(delta.delta).length === 0 || (how === 'deaf' && isBusy)) return []
        isBusy = true
        return apply(delta)
      }),
      mergeMap(fields => {
        isBusy = false
        return report(fields)
      }),
    )
  }
  return { ...original, follow }
})

const MUTATIONS: Record<string, Mutation> = {
  'documents written whole': { merged: (_, mine) => mine },
  'earlier wishes sent again with a new one': {
    merged: (original, mine, theirs) => original(mine, theirs, undefined, new Set(Object.keys(mine))),
  },
  'wishes that were replaced before they were sent forgotten': {
    merged: (original, mine, theirs, base, changed) =>
      original(mine, theirs, base, changed && new Set(Array.from(changed).slice(0, 1))),
  },
  'conditions left out': { contentOf: ({ value }) => ({ value, condition: undefined }) },
  'a device that does several things at a time': { follow: 'at once' },
  'a device that is deaf while it works': { follow: 'deaf' },
  'a device that is not told again what it has reported in vain': { isDeafToAnswers: true },
}

const MOST_SCHEDULES = 4_000

/** How many schedules it takes until somebody objects, and the objection. */
function caughtAfter(): { schedules: number; objection: string } | undefined {
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++) {
    const [objection] = simulateShadows(shadowScheduleOf(seed)).violations
    if (objection !== undefined) return { schedules: seed, objection }
  }
  return undefined
}

describe('the oracle objects when a safeguard of shadows is switched off', () => {
  afterEach(() => {
    switchedOff.mutation = {}
  })

  it.each(some(Object.entries(MUTATIONS), 3))('%s', { timeout: 120_000 }, (name, mutation) => {
    switchedOff.mutation = mutation
    const caught = caughtAfter()
    console.info(`${name}: caught after ${caught?.schedules} schedules: ${caught?.objection}`)
    expect(caught).toBeDefined()
  })
})
