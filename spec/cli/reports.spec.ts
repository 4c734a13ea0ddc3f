import { describe, expect, it } from 'vitest'
import { storageWords } from '../../src/cli/reports.js'
import { StateStoreError } from '../../src/core/util/errors.js'

describe('A line about what is kept', () => {
  it.each([
    ['kept', undefined, true, 'the log of the store goes on'],
    ['waiting', undefined, true, 'nothing is answered until the log of the store goes on'],
    ['waiting', new Error('no quorum'), true, 'nothing is answered until the log of the store goes on: no quorum'],
    ['full', new Error('ENOSPC'), false, 'writes are refused, nothing that was answered is lost: ENOSPC'],
    ['broken', new StateStoreError('in-use', 'another process has it'), false, 'another process has it'],
  ] as const)('says of %s (%s) only what is known', (state, error, isNode, words) => {
    expect(storageWords({ state, error }, isNode)).toBe(words)
  })
})
