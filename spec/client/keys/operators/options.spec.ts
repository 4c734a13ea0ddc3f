import { NEVER } from 'rxjs'
import { expect, it } from 'vitest'
import { set, text } from '../../../../src/client/index.js'
import { fakeStore } from '../../../support/operator-session.js'

it('an operator rejects a string as `latest`, which would count as true', () => {
  const { store } = fakeStore(() => NEVER)
  // @ts-expect-error a string is not a flag
  expect(() => set(store.key('k', text), { latest: 'no' })).toThrow(
    expect.objectContaining({ code: 'argument', message: 'Expected `latest` to be true or false, got `no` (string)' }),
  )
})
