import { expect, it } from 'vitest'
import { findDeliveryViolations } from '../../harness/judges/delivery.js'

it('the judge accepts messages that arrive once, in order, and completely', () => {
  expect(findDeliveryViolations([2, 3, 4], [1, 2, 3, 4])).toEqual([])
})

it('the judge rejects a missing message', () => {
  expect(findDeliveryViolations([2, 3, 4], [2, 4])).toEqual(['missed 1 messages, first 3'])
})

it('the judge rejects a message that arrives twice or late', () => {
  expect(findDeliveryViolations([2, 3], [2, 3, 3])).toEqual(['received 3 after 3'])
  expect(findDeliveryViolations([2, 3], [3, 2])).toEqual(['received 2 after 3'])
})
