import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Step, WatchEvent, WatchState } from '../../src/keys/reconcile.js'
import type { Sabotage } from './broker.js'
import { scheduleOf } from './schedule.js'
import { simulate } from './simulate.js'

type Reconcile = (state: WatchState, event: WatchEvent) => Step
type Mutation = (original: Reconcile, state: WatchState, event: WatchEvent) => Step

const switchedOff = vi.hoisted((): { mutation: Mutation | undefined } => ({ mutation: undefined }))

vi.mock('../../src/keys/reconcile.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/keys/reconcile.js')>()
  const reconcile: Reconcile = (state, event) =>
    switchedOff.mutation ? switchedOff.mutation(original.reconcile, state, event) : original.reconcile(state, event)
  return { ...original, reconcile }
})

const MUTATIONS: Record<string, Mutation> = {
  'version check': (original, state, event) => original({ ...state, floor: undefined }, event),
  're-GET on a raced absent reply': (original, state, event) => original({ ...state, raced: false }, event),
  'stale-queue guard': (original, state, event) =>
    original(state, event.type === 'connected' ? { ...event, trusted: true } : event),
  're-KEYNOTIFY': (original, state, event) => {
    const step = original(state, event)
    if (event.type !== 'connected' || !state.known) return step
    return { ...step, state: { ...step.state, phase: 'reading' }, send: 'GET' }
  },
}

const MOST_SCHEDULES = 3_000

/** How many schedules it takes until the oracle objects; `undefined` if it never does. */
function caughtAfter(sabotage?: Sabotage): number | undefined {
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++) {
    if (simulate(scheduleOf(seed), sabotage).violations.length > 0) return seed
  }
  return undefined
}

describe('the oracle objects when a safeguard is switched off', () => {
  afterEach(() => {
    switchedOff.mutation = undefined
  })

  it.each(Object.entries(MUTATIONS))('%s', { timeout: 60_000 }, (name, mutation) => {
    switchedOff.mutation = mutation
    const schedules = caughtAfter()
    console.info(`${name} off: caught after ${schedules} schedules`)
    expect(schedules).toBeDefined()
  })

  it.each(['SUBACK wait', 'STOP on last leave'] as const)('%s', { timeout: 60_000 }, name => {
    const schedules = caughtAfter(name)
    console.info(`${name} off: caught after ${schedules} schedules`)
    expect(schedules).toBeDefined()
  })
})
