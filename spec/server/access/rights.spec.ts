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

/** A policy of one rule, for the user `u`. */
const rule = (resources: object): string =>
  JSON.stringify({ authorizationPolicies: { rules: [{ principals: { usernames: ['u'] }, ...resources }] } })

const keys = (method: string, keyType: string, ...names: string[]): string =>
  rule({ stateStoreResources: [{ method, keyType, keys: names }] })

const contoso = { city: 'seattle', organization: 'contoso' }
const b17 = { building: '17', organization: 'contoso' }
const sensor = { username: 'temperature-sensor', attributes: b17, clientId: '17-a' }

describe("AIO's examples", () => {
  it.each<[string, string, Partial<Subject>, Action, boolean]>([
    ['users connect', USERNAMES_AND_ATTRIBUTES, { username: 'temperature-sensor' }, connect, true],
    ['others do not', USERNAMES_AND_ATTRIBUTES, { username: 'pressure-sensor' }, connect, false],
    ['attributes do', USERNAMES_AND_ATTRIBUTES, { attributes: contoso }, connect, true],
    ['all of them', USERNAMES_AND_ATTRIBUTES, { attributes: { organization: 'contoso' } }, connect, false],
    [
      'own telemetry',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'humidity-sensor' },
      publish('/telemetry/humidity-sensor'),
      true,
    ],
    [
      'not of others',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'humidity-sensor' },
      publish('/telemetry/temperature-sensor'),
      false,
    ],
    [
      'of the organization',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'x', attributes: contoso },
      publish('/telemetry/contoso'),
      true,
    ],
    [
      'without organization',
      USERNAMES_AND_ATTRIBUTES,
      { username: 'humidity-sensor' },
      publish('/telemetry/contoso'),
      false,
    ],
    ['commands', USERNAMES_AND_ATTRIBUTES, { attributes: contoso }, subscribe('/commands/contoso'), true],
    ['no more', USERNAMES_AND_ATTRIBUTES, { attributes: contoso }, subscribe('/commands/#'), false],
    [
      'a client of its building',
      CLIENT_IDS,
      { attributes: { building: 'building22' }, clientId: 'building22-a' },
      connect,
      true,
    ],
    [
      'of another building',
      CLIENT_IDS,
      { attributes: { building: 'building22' }, clientId: 'building23-a' },
      connect,
      false,
    ],
    [
      'of a building without rule',
      CLIENT_IDS,
      { attributes: { building: 'building24' }, clientId: 'building24' },
      connect,
      false,
    ],
    [
      'its telemetry',
      CLIENT_IDS,
      { attributes: { building: 'building23' } },
      publish('sensors/building23/c/telemetry'),
      true,
    ],
    ['service account', SERVICE_ACCOUNT, { attributes: { group: 'authz-sat' } }, publish('odd-numbered-orders'), true],
    ['subscribes', SERVICE_ACCOUNT, { attributes: { group: 'authz-sat' } }, subscribe('orders'), true],
    [
      'but not to that',
      SERVICE_ACCOUNT,
      { attributes: { group: 'authz-sat' } },
      subscribe('odd-numbered-orders'),
      false,
    ],
    ['a key', STATE_STORE, sensor, read('myreadkey'), true],
    ['which it may not write', STATE_STORE, sensor, write('myreadkey'), false],
    ['any one sign', STATE_STORE, sensor, read('myotherkey7'), true],
    ['but one', STATE_STORE, sensor, read('myotherkey77'), false],
    ['a digit', STATE_STORE, sensor, read('mynumerickeysuffix7'), true],
    ['no letter', STATE_STORE, sensor, read('mynumerickeysuffixa'), false],
    ['keys of its own', STATE_STORE, sensor, read('clients:17-a:x'), true],
    ['not those of others', STATE_STORE, sensor, read('clients:17-b:x'), false],
    ['bytes', STATE_STORE, sensor, write('116 101 115 116'), true],
    ['not their Base64', STATE_STORE, sensor, read('MTE2IDEwMSAxMTUgMTE2'), false],
    ['a star in a topic is a star', STATE_STORE, sensor, publish('sensors/17/17-a/telemetry/*'), true],
    ['and nothing else', STATE_STORE, sensor, publish('sensors/17/17-a/telemetry/x'), false],
  ])('%s', (_, policy, subject, action, allowed) => {
    expect(rightsOf(policy, subject).allows(action)).toBe(allowed)
  })
})

describe('Rights', () => {
  it('are none without a rule', () => {
    for (const policy of ['[]', 'authorizationPolicies: {}', '[{ principals: {} }]', rule({})]) {
      const rights = rightsOf(policy, { username: 'u', attributes: { a: 'b' } })
      for (const action of [connect, publish('t'), subscribe('t'), read('k'), write('k')])
        expect(rights.allows(action)).toBe(false)
      expect(rights.readable.matches(utf8('k'))).toBe(false)
    }
  })

  it('say which of them decides', () => {
    const policy =
      '[{principals: {usernames: [v]}}, {principals: {clientIds: [c]}, brokerResources: [{method: Connect}]}]'
    expect(rightsOf(policy, { username: 'u' }).sourceOf(connect)).toBe('rules[1].brokerResources[0]')
    expect(rightsOf(policy, { username: 'v' }).ruleIndexes).toEqual([0, 1])
    expect(rightsOf(policy, { username: 'v', clientId: 'd' }).sourceOf(connect)).toBeUndefined()
  })

  it.each(['*', '?', '[a-z]', '[^q]', '\\', '[', '*?[]\\'])('take %j in what is known of a client for itself', sign => {
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
  })

  it.each(['+', '#', 'a/+', 'a/#', 'a#', '\0'])('give nothing for %j in a topic', sign => {
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
  })

  it.each([
    ['a user without a name', { clientId: 'c' }],
    ['an attribute that is not there', { clientId: 'c', username: 'u' }],
    ['an attribute that is empty', { clientId: 'c', username: 'u', attributes: { site: '' } }],
    ['an attribute that every object has', { clientId: 'c', username: 'u', attributes: {} }],
  ])('give nothing to %s', (_, subject) => {
    const policy = `[{principals: {clientIds: [c]}, stateStoreResources: [
      {method: Read, keyType: Pattern, keys: ['{principal.attributes.site}*', '{principal.attributes.toString}*']}]}]`
    expect(rightsOf(policy, subject).allows(read('k'))).toBe(false)
  })

  it.each([
    ['Read', true, false],
    ['Write', false, true],
    ['ReadWrite', true, true],
  ])('of method %s', (method, reads, writes) => {
    const rights = rightsOf(keys(method, 'String', 'a*'), { username: 'u' })
    expect([rights.allows(read('a*')), rights.allows(write('a*'))]).toEqual([reads, writes])
    expect([rights.allows(read('ab')), rights.allows(write('A*'))]).toEqual([false, false])
  })

  it('of bytes that are no text', () => {
    const rights = rightsOf(keys('Read', 'Binary', '/wA='), { username: 'u' })
    expect(rights.allows({ type: 'read', key: Uint8Array.of(255, 0) })).toBe(true)
    expect(rights.allows({ type: 'read', key: Uint8Array.of(255) })).toBe(false)
  })

  it('of a pattern that is too long with what is known of a client are none', () => {
    const policy = keys('Read', 'Pattern', '{principal.clientId}*')
    expect(rightsOf(policy, { username: 'u', clientId: 'x'.repeat(1_023) }).allows(read('x'.repeat(1_023)))).toBe(true)
    expect(rightsOf(policy, { username: 'u', clientId: 'x'.repeat(1_024) }).allows(read('x'.repeat(1_024)))).toBe(false)
  })
})
