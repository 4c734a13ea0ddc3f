import { describe, expect, it } from 'vitest'
import { storageWords } from '../../src/cli/reports.js'
import { StateStoreError } from '../../src/core/util/errors.js'

describe('The message about the storage', () => {
  it.each([
    ['kept', undefined, true, 'the store no longer has a problem with its log'],
    // Also when an attached store goes to standby and closes its full directory.
    ['kept', undefined, false, 'the store no longer has a problem with its directory'],
    ['waiting', undefined, true, 'requests wait until the log is available'],
    ['waiting', new Error('no quorum'), true, 'requests wait until the log is available: no quorum'],
    ['full', new Error('ENOSPC'), false, 'writes are rejected, acknowledged writes are safe: ENOSPC'],
    ['broken', new StateStoreError('in-use', 'another process has it'), false, 'another process has it'],
  ] as const)('contains only known facts for the state %s and the error %s', (state, error, isNode, words) => {
    expect(storageWords({ state, error }, isNode)).toBe(words)
  })
})
