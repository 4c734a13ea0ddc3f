import { expect, it } from 'vitest'
import { ClientRights } from '../../../src/server/access/authorizer.js'
import type { Policy } from '../../../src/server/access/policy.js'

const POLICY: Policy = { rules: [] }

it('two logins have the same rights only with the same name, attributes, client id and policy', () => {
  let policy = POLICY
  const rightsOf = (attributes: Record<string, string>, username = 'u', clientId = 'c') =>
    new ClientRights({ username, id: 'x', attributes }, clientId, () => policy)
  const earlier = rightsOf({ a: '1', b: '2' })
  expect(rightsOf({ b: '2', a: '1' }).hasSameRights(earlier)).toBe(true)
  const others = [rightsOf({ a: '1' }), rightsOf({ a: '1', b: '3' }), rightsOf({ a: '1', b: '2', c: '' })]
  others.push(rightsOf({ a: '1', b: '2' }, 'v'), rightsOf({ a: '1', b: '2' }, 'u', 'd'))
  expect(others.filter(each => each.hasSameRights(earlier))).toEqual([])
  policy = { rules: [] }
  const later = rightsOf({ a: '1', b: '2' })
  expect(later.hasSameRights(earlier)).toBe(false)
  expect(earlier.canConnect).toBe(false)
  expect(later.hasSameRights(earlier)).toBe(true)
})
