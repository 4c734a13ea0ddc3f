import { describe, expect, it } from 'vitest'
import { utf8 } from '../../../src/core/util/bytes.js'
import { parsePolicy } from '../../../src/server/access/policy.js'
import { type Action, Rights } from '../../../src/server/access/rights.js'
import type { Subject } from '../../../src/server/access/template.js'
import { CLIENT_IDS, SERVICE_ACCOUNT, STATE_STORE, USERNAMES_AND_ATTRIBUTES } from './pages.js'

const connect: Action = { type: 'connect' }
const publish = (topic: string): Action => ({ type: 'publish', topic })
const subscribe = (filter: string): Action => ({ type: 'subscribe', filter })
const read = (key: string): Action => ({ type: 'read', key: utf8(key) })
const write = (key: string): Action => ({ type: 'write', key: utf8(key) })

const rightsOf = (policy: string, subject: Partial<Subject>): Rights =>
  new Rights(parsePolicy(policy), { clientId: 'c', ...subject })

/** Returns a policy with one rule, for the user `u`. */
const rule = (resources: object): string =>
  JSON.stringify({ authorizationPolicies: { rules: [{ principals: { usernames: ['u'] }, ...resources }] } })

const keys = (method: string, keyType: string, ...names: string[]): string =>
  rule({ stateStoreResources: [{ method, keyType, keys: names }] })

const contoso = { city: 'seattle', organization: 'contoso' }
const b17 = { building: '17', organization: 'contoso' }
const sensor = { username: 'temperature-sensor', attributes: b17, clientId: '17-a' }

describe("AIO's examples", () => {
  it.each<[string, string, Partial<Subject>, Action, boolean]>([
    ['a listed user may connect', USERNAMES_AND_ATTRIBUTES, { username: 'temperature-sensor' }, connect, true],
    ['another user may not connect', USERNAMES_AND_ATTRIBUTES, { username: 'pressure-sensor' }, connect, false],
    ['a client with the attributes may connect', USERNAMES_AND_ATTRIBUTES, { attributes: contoso }, connect, true],
    [
      'a client with some of the attributes may not connect',
      USERNAMES_AND_ATTRIBUTES,
      { attributes: { organization: 'contoso' } },
      connect,
      false,
    ],
    [
      'a user may publish its telemetry',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'humidity-sensor' },
      publish('/telemetry/humidity-sensor'),
      true,
    ],
    [
      'a user may not publish telemetry of another user',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'humidity-sensor' },
      publish('/telemetry/temperature-sensor'),
      false,
    ],
    [
      'a client may publish telemetry of its organization',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'x', attributes: contoso },
      publish('/telemetry/contoso'),
      true,
    ],
    [
      'a client without organization may not publish its telemetry',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'humidity-sensor' },
      publish('/telemetry/contoso'),
      false,
    ],
    [
      'a client may subscribe to commands of its organization',
      USERNAMES_AND_ATTRIBUTES,
      { attributes: contoso },
      subscribe('/commands/contoso'),
      true,
    ],
    [
      'a client may not subscribe to all commands',
      USERNAMES_AND_ATTRIBUTES,
      { attributes: contoso },
      subscribe('/commands/#'),
      false,
    ],
    [
      'a client id may begin with its building',
      CLIENT_IDS,
      { attributes: { building: 'building22' }, clientId: 'building22-a' },
      connect,
      true,
    ],
    [
      'a client id may not begin with another building',
      CLIENT_IDS,
      { attributes: { building: 'building22' }, clientId: 'building23-a' },
      connect,
      false,
    ],
    [
      'a building without a rule may not connect',
      CLIENT_IDS,
      { attributes: { building: 'building24' }, clientId: 'building24' },
      connect,
      false,
    ],
    [
      'a client may publish to the topic of its client id',
      CLIENT_IDS,
      { attributes: { building: 'building23' } },
      publish('sensors/building23/c/telemetry'),
      true,
    ],
    [
      'a service account may publish to its topic',
      SERVICE_ACCOUNT,
      { attributes: { group: 'authz-sat' } },
      publish('odd-numbered-orders'),
      true,
    ],
    [
      'a service account may subscribe to its topic',
      SERVICE_ACCOUNT,
      { attributes: { group: 'authz-sat' } },
      subscribe('orders'),
      true,
    ],
    [
      'a service account may not subscribe to the topic on which it publishes',
      SERVICE_ACCOUNT,
      { attributes: { group: 'authz-sat' } },
      subscribe('odd-numbered-orders'),
      false,
    ],
    ['a read key may be read', STATE_STORE, sensor, read('myreadkey'), true],
    ['a read key may not be written', STATE_STORE, sensor, write('myreadkey'), false],
    ['? matches one character', STATE_STORE, sensor, read('myotherkey7'), true],
    ['? does not match two characters', STATE_STORE, sensor, read('myotherkey77'), false],
    ['a class matches a digit', STATE_STORE, sensor, read('mynumerickeysuffix7'), true],
    ['a class of digits does not match a letter', STATE_STORE, sensor, read('mynumerickeysuffixa'), false],
    ["keys with the client's own id may be read", STATE_STORE, sensor, read('clients:17-a:x'), true],
    ['keys with the id of another client may not be read', STATE_STORE, sensor, read('clients:17-b:x'), false],
    ['a Base64 key may be written', STATE_STORE, sensor, write('116 101 115 116'), true],
    ['the Base64 text of a binary key is a different key', STATE_STORE, sensor, read('MTE2IDEwMSAxMTUgMTE2'), false],
    ['a star in a topic matches a literal star', STATE_STORE, sensor, publish('sensors/17/17-a/telemetry/*'), true],
    ['a star in a topic does not match other text', STATE_STORE, sensor, publish('sensors/17/17-a/telemetry/x'), false],
  ])('%s', (_, policy, subject, action, allowed) => {
    expect(rightsOf(policy, subject).allows(action)).toBe(allowed)
  })
})

describe('the rights of a client', () => {
  it('are empty without a matching rule', () => {
    for (const policy of ['[]', 'authorizationPolicies: {}', '[{ principals: {} }]', rule({})]) {
      const rights = rightsOf(policy, { username: 'u', attributes: { a: 'b' } })
      for (const action of [connect, publish('t'), subscribe('t'), read('k'), write('k')])
        expect(rights.allows(action)).toBe(false)
      expect(rights.readable.matches(utf8('k'))).toBe(false)
    }
  })

  it('name the rule that decided', () => {
    const policy =
      '[{principals: {usernames: [v]}}, {principals: {clientIds: [c]}, brokerResources: [{method: Connect}]}]'
    expect(rightsOf(policy, { username: 'u' }).sourceOf(connect)).toBe('rules[1].brokerResources[0]')
    expect(rightsOf(policy, { username: 'v' }).ruleIndexes).toEqual([0, 1])
    expect(rightsOf(policy, { username: 'v', clientId: 'd' }).sourceOf(connect)).toBeUndefined()
  })

  it.each(['*', '?', '[a-z]', '[^q]', '\\', '[', '*?[]\\'])(
    'treat a client property %j as literal text in a key glob',
    sign => {
      const subject = { username: 'u', clientId: sign, attributes: { a: sign } }
      const policies = [
        keys('Read', 'Pattern', '{principal.attributes.a}:*'),
        keys('Read', 'Pattern', '{principal.clientId}:*'),
      ]
      for (const policy of policies) {
        const rights = rightsOf(policy, subject)
        expect(rights.allows(read(`${sign}:1`))).toBe(true)
        for (const other of ['x:1', 'q:1', ':1', 'xyz:1']) expect(rights.allows(read(other))).toBe(false)
      }
      const connecting = rule({ brokerResources: [{ method: 'Connect', clientIds: ['{principal.attributes.a}*'] }] })
      expect(rightsOf(connecting, { ...subject, clientId: `${sign}-1` }).allows(connect)).toBe(true)
      expect(rightsOf(connecting, { ...subject, clientId: 'x-1' }).allows(connect)).toBe(false)
    },
  )

  it.each(['/', 'a/', '/a', 'a/b', '+', '#', 'a/+', 'a/#', 'a#', '\0'])(
    'exclude every topic whose placeholder is filled with text that contains %j',
    sign => {
      const topics = ['t/{principal.clientId}/x', 't/{principal.attributes.a}', '{principal.clientId}']
      const policy = rule({
        brokerResources: [
          { method: 'Publish', topics },
          { method: 'Subscribe', topics },
        ],
      })
      const rights = rightsOf(policy, { username: 'u', clientId: sign, attributes: { a: sign } })
      for (const topic of ['t/a', 't/a/x', 'a', 't/a/b/x', `t/${sign}`, `t/${sign}/x`, sign]) {
        expect(rights.allows(subscribe(topic))).toBe(false)
        expect(rights.allows(publish(topic))).toBe(false)
      }
    },
  )

  it.each([
    ['a client id', { clientId: 'panel/door', username: 'u', attributes: { site: 'u' } }],
    ['a user name', { clientId: 'u', username: 'panel/door', attributes: { site: 'u' } }],
    ['an attribute', { clientId: 'u', username: 'u', attributes: { site: 'panel/door' } }],
  ])('exclude the topics, keys and client ids below those of another client for %s with a slash', (_, subject) => {
    const place = Object.entries({ ...subject, 'attributes.site': subject.attributes.site }).find(
      ([, value]) => value === 'panel/door',
    )?.[0]
    const name = `{principal.${place}}`
    const rights = rightsOf(
      `[{principals: {attributes: [{site: u}, {site: panel/door}]}, brokerResources: [
        {method: Connect, clientIds: ['${name}']}, {method: Publish, topics: ['devices/${name}/#']},
        {method: Subscribe, topics: ['devices/${name}/#']}], stateStoreResources: [
        {method: ReadWrite, keyType: Pattern, keys: ['devices/${name}/*']},
        {method: ReadWrite, keyType: String, keys: ['devices/${name}/lock']}]}]`,
      subject,
    )
    expect(rights.allows({ type: 'connect' })).toBe(false)
    expect(rights.allows(subscribe('devices/panel/door/lock'))).toBe(false)
    expect(rights.allows(publish('devices/panel/door/lock'))).toBe(false)
    expect(rights.allows(read('devices/panel/door/lock'))).toBe(false)
  })

  it.each([
    ['a client without user name', { clientId: 'c' }],
    ['a missing attribute', { clientId: 'c', username: 'u' }],
    ['an empty attribute', { clientId: 'c', username: 'u', attributes: { site: '' } }],
    ['an attribute named like an object property', { clientId: 'c', username: 'u', attributes: {} }],
  ])('exclude topics and keys with a placeholder for %s', (_, subject) => {
    const policy = `[{principals: {clientIds: [c]}, stateStoreResources: [
      {method: Read, keyType: Pattern, keys: ['{principal.attributes.site}*', '{principal.attributes.toString}*']}]}]`
    expect(rightsOf(policy, subject).allows(read('k'))).toBe(false)
  })

  it.each([
    ['Read', true, false],
    ['Write', false, true],
    ['ReadWrite', true, true],
  ])('separate reading from writing: %s', (method, reads, writes) => {
    const rights = rightsOf(keys(method, 'String', 'a*'), { username: 'u' })
    expect([rights.allows(read('a*')), rights.allows(write('a*'))]).toEqual([reads, writes])
    expect([rights.allows(read('ab')), rights.allows(write('A*'))]).toEqual([false, false])
  })

  it('include binary keys', () => {
    const rights = rightsOf(keys('Read', 'Binary', '/wA='), { username: 'u' })
    expect(rights.allows({ type: 'read', key: Uint8Array.of(255, 0) })).toBe(true)
    expect(rights.allows({ type: 'read', key: Uint8Array.of(255) })).toBe(false)
  })

  it("exclude a glob that becomes too long when the client's properties are inserted", () => {
    const policy = keys('Read', 'Pattern', '{principal.clientId}*')
    expect(rightsOf(policy, { username: 'u', clientId: 'x'.repeat(1_023) }).allows(read('x'.repeat(1_023)))).toBe(true)
    expect(rightsOf(policy, { username: 'u', clientId: 'x'.repeat(1_024) }).allows(read('x'.repeat(1_024)))).toBe(false)
  })
})
