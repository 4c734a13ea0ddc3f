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

/** A message that the hub has acknowledged. */
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

it('says of the last ones before the hub ended that its witness may have missed them', () => {
  witnessed()
  acked()
  ledger.recordHubEnd()
  witnessed(LIFE + 1)
  expect(judged()).toEqual([0, 1])
})

it('a message in flight when the hub ended is reported as such', () => {
  const id = ledger.register(1, GROUP)
  ledger.recordHubEnd()
  vi.advanceTimersByTime(1)
  ledger.settle(id, 'acked')
  expect(judged()).toEqual([0, 1])
})

it('does not when the witness saw a later one in the same life', () => {
  acked()
  witnessed()
  ledger.recordHubEnd()
  expect(judged()).toEqual([1, 0])
})

it('does not after the last end', () => {
  ledger.recordHubEnd()
  vi.advanceTimersByTime(1)
  acked()
  expect(judged()).toEqual([1, 0])
})

it('does not of an event, which the hub takes itself', () => {
  acked(EVENT)
  ledger.recordHubEnd()
  expect(judged()).toEqual([1, 0])
})
