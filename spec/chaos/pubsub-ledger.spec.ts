import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { EVENT, Ledger } from '../../chaos/pubsub/ledger.js'
import { Violations } from '../../chaos/violations.js'

const GROUP = 3
const LIFE = 1

let violations: Violations
let ledger: Ledger
beforeEach(() => {
  vi.useFakeTimers()
  violations = new Violations()
  ledger = new Ledger(violations)
})
afterEach(() => {
  vi.useRealTimers()
})

/** Registers a message that the hub has acknowledged. */
function acked(group = GROUP): number {
  const id = ledger.register(1, group)
  vi.advanceTimersByTime(1)
  ledger.settle(id, 'acked')
  return id
}

const witnessed = (life = LIFE): void => ledger.recordPublished(life, GROUP, acked())

function judged(): readonly [violations: number, unseen: number] {
  ledger.check()
  return [violations.count, ledger.unseen]
}

it('a message that the hub acknowledged and no member received is reported as lost', () => {
  witnessed()
  acked()
  expect(judged()).toEqual([1, 0])
})

it('a message that the hub acknowledged just before it ended counts as possibly missed by the witness, not as lost', () => {
  witnessed()
  acked()
  ledger.recordHubEnd()
  witnessed(LIFE + 1)
  expect(judged()).toEqual([0, 1])
})

it('a message that was in flight when the hub ended counts as possibly missed by the witness', () => {
  const id = ledger.register(1, GROUP)
  ledger.recordHubEnd()
  vi.advanceTimersByTime(1)
  ledger.settle(id, 'acked')
  expect(judged()).toEqual([0, 1])
})

it('a message is reported as lost if the witness received a later message in the same life of the hub', () => {
  acked()
  witnessed()
  ledger.recordHubEnd()
  expect(judged()).toEqual([1, 0])
})

it('a message that the hub acknowledged after its last end is reported as lost', () => {
  ledger.recordHubEnd()
  vi.advanceTimersByTime(1)
  acked()
  expect(judged()).toEqual([1, 0])
})

it('an event, which the hub receives itself, is reported as lost even just before the hub ended', () => {
  acked(EVENT)
  ledger.recordHubEnd()
  expect(judged()).toEqual([1, 0])
})
