import { EMPTY, map } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Claim } from '../../src/client/lease/claim.js'
import type { TenurePort } from '../../src/client/lease/tenure.js'
import { some } from '../support/effort.js'
import { leaseScheduleOf } from './lease-schedule.js'
import { simulateLeases } from './lease-simulate.js'

type ClaimModule = typeof import('../../src/client/lease/claim.js')

/** What is different from the shipped leases. */
interface Mutation {
  readonly claim?: (original: ClaimModule['claim']) => ClaimModule['claim']
  readonly giveBack?: ClaimModule['giveBack']
  readonly isOver?: ClaimModule['isOver']
  readonly first?: (first: Claim) => Claim
  readonly port?: (port: TenurePort) => TenurePort
  readonly token?: 'that of the last renewal'
  readonly contradicted?: 'ignored' | 'always'
}

const switchedOff = vi.hoisted((): { mutation: Mutation } => ({ mutation: {} }))

vi.mock('../../src/client/lease/claim.js', async importOriginal => {
  const original = await importOriginal<ClaimModule>()
  const { claim, giveBack, isOver } = original
  const mutant: Pick<ClaimModule, 'claim' | 'giveBack' | 'isOver'> = {
    claim: (...args) => (switchedOff.mutation.claim?.(claim) ?? claim)(...args),
    giveBack: (...args) => (switchedOff.mutation.giveBack ?? giveBack)(...args),
    isOver: (...args) => (switchedOff.mutation.isOver ?? isOver)(...args),
  }
  return { ...original, ...mutant }
})

vi.mock('../../src/client/lease/tenure.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/lease/tenure.js')>()
  class Tenure extends original.Tenure {
    constructor(first: Claim, port: TenurePort) {
      const { mutation } = switchedOff
      let latest = mutation.first?.(first) ?? first
      const watched = (): ReturnType<TenurePort['claim']> =>
        port.claim().pipe(
          map(claim => {
            if (claim.applied) latest = claim
            return claim
          }),
        )
      super(latest, mutation.port?.({ ...port, claim: watched }) ?? { ...port, claim: watched })
      if (mutation.token) Object.defineProperty(this, 'token', { get: () => latest.version })
    }

    override contradicted(
      ...[version, reason]: Parameters<InstanceType<typeof original.Tenure>['contradicted']>
    ): void {
      const { contradicted } = switchedOff.mutation
      if (contradicted === 'ignored') return
      super.contradicted(contradicted === 'always' ? undefined : version, reason)
    }
  }
  return { ...original, Tenure }
})

/** The first claim that ever led to a holding in this schedule. */
let firstEver: Claim | undefined

const MUTATIONS: Record<string, Mutation> = {
  'expiry counted from the answer': {
    claim: original => (host, key, holder, terms) =>
      original(host, key, holder, terms).pipe(
        map(answer => {
          const { clock } = host
          const expiry = { monotonic: clock.monotonic() + terms.duration, wall: clock.now() + terms.duration }
          return { ...answer, expiry }
        }),
      ),
  },
  'late answers believed': { isOver: () => false },
  'no local expiry': {
    port: port => ({ ...port, lost: (reason, cause) => (reason === 'expired' ? undefined : port.lost(reason, cause)) }),
  },
  'watch that contradicts ignored': { contradicted: 'ignored' },
  'watch that contradicts believed, however old': { contradicted: 'always' },
  'token of the first holding for all': {
    first: claim => {
      firstEver ??= claim
      return { ...claim, version: firstEver.version }
    },
  },
  'token of the last renewal': { token: 'that of the last renewal' },
  'lease given back whoever holds it': {
    giveBack: ({ store }, key, _holder, timeout) => store.delete(key, undefined, timeout),
  },
  'lease not given back': { giveBack: () => EMPTY },
}

const MOST_SCHEDULES = 2_000

/** How many schedules it takes until somebody objects, and the objection. */
function caughtAfter(): { schedules: number; objection: string } | undefined {
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++) {
    firstEver = undefined
    const [objection] = simulateLeases(leaseScheduleOf(seed)).violations
    if (objection !== undefined) return { schedules: seed, objection }
  }
  return undefined
}

describe('the referee objects when a safeguard of leases is switched off', () => {
  afterEach(() => {
    switchedOff.mutation = {}
  })

  it.each(some(Object.entries(MUTATIONS), 4))('%s', { timeout: 60_000 }, (name, mutation) => {
    switchedOff.mutation = mutation
    const caught = caughtAfter()
    console.info(`${name}: caught after ${caught?.schedules} schedules: ${caught?.objection}`)
    expect(caught).toBeDefined()
  })
})
