import { describe, expect, it } from 'vitest'
import { Permissions } from '../../../src/pubsub/hub/permissions.js'

const mayJoin = (group: string, ...roles: string[]) => new Permissions(roles).allows('joinLeaveGroup', group)
const maySend = (group: string, ...roles: string[]) => new Permissions(roles).allows('sendToGroup', group)

describe('a role', () => {
  it.each([
    ['webpubsub.joinLeaveGroup', 'any', true, false],
    ['webpubsub.sendToGroup', 'any', false, true],
    ['webpubsub.joinLeaveGroup.a', 'a', true, false],
    ['webpubsub.joinLeaveGroup.a', 'b', false, false],
    ['webpubsub.sendToGroup.a.*', 'a.*', false, true],
    ['webpubsub.sendToGroup.a.*', 'a.b', false, false],
    ['webpubsub.sendToGroups.a.*', 'a.b', false, true],
    ['webpubsub.joinLeaveGroups.**', 'a.b', true, false],
    ['webpubsub.joinLeaveGroups', 'a', false, false],
    ['webpubsub.joinLeaveGroups.******', 'a', false, false],
    ['webpubsub.joinLeaveGroup.', '', true, false],
    ['webpubsub.sendToGroup.constructor', 'constructor', false, true],
    ['webpubsub', 'a', false, false],
    ['constructor', 'a', false, false],
    ['__proto__', 'a', false, false],
  ])('%s for the group %s allows joining: %s, sending: %s', (role, group, join, send) => {
    expect([mayJoin(group, role), maySend(group, role)]).toEqual([join, send])
  })

  it('several roles grant the permissions of each', () => {
    const roles = ['webpubsub.sendToGroup.a', 'webpubsub.sendToGroups.b?', 'other']
    expect(['a', 'b1', 'c'].map(group => maySend(group, ...roles))).toEqual([true, true, false])
  })
})

describe('a permission', () => {
  it('can be granted and revoked for one group', () => {
    const permissions = new Permissions(['webpubsub.sendToGroups.b*'])
    permissions.grant('sendToGroup', 'a')
    expect(permissions.allows('sendToGroup', 'a')).toBe(true)
    permissions.revoke('sendToGroup', 'a')
    permissions.revoke('sendToGroup', 'b1')
    expect(['a', 'b1'].map(group => permissions.allows('sendToGroup', group))).toEqual([false, true])
  })

  it('can be granted and revoked for all groups', () => {
    const permissions = new Permissions(['webpubsub.joinLeaveGroups.b*', 'webpubsub.joinLeaveGroup.a'])
    permissions.grant('joinLeaveGroup')
    expect(permissions.allows('joinLeaveGroup', 'c')).toBe(true)
    permissions.revoke('joinLeaveGroup')
    expect(['a', 'b1', 'c'].map(group => permissions.allows('joinLeaveGroup', group))).toEqual([false, false, false])
  })
})
