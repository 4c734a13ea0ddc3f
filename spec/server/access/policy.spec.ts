import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { parsePolicy } from '../../../src/server/access/policy.js'
import { effort } from '../../support/effort.js'
import { CLIENT_IDS, SERVICE_ACCOUNT, STATE_STORE, USERNAMES_AND_ATTRIBUTES } from './pages.js'

const rule = (text: string): string => `authorizationPolicies:\n  rules:\n  - principals: { usernames: [u] }\n${text}`

describe('parsePolicy', () => {
  it.each([USERNAMES_AND_ATTRIBUTES, CLIENT_IDS, SERVICE_ACCOUNT, STATE_STORE])("reads AIO's example %#", text => {
    expect(parsePolicy(text).rules).toHaveLength(1)
  })

  it.each([
    ['nothing', '', 'the file: Expected a map, got `null`'],
    ['a text', 'no policy', 'line 1: Expected a map, got `no policy`'],
    ['no policies', 'kind: BrokerAuthorization', 'line 1: Expected `authorizationPolicies`, got nothing'],
    [
      'another kind',
      'kind: BrokerAuthentication',
      'line 1, kind: Expected one of BrokerAuthorization, got `BrokerAuthentication`',
    ],
    [
      'a word that is not known',
      'authorizationPolicies:\n  rule: []',
      'line 2, authorizationPolicies: Expected none but cache, enableCache, rules, got `rule`',
    ],
    [
      'a cache that is not known',
      'authorizationPolicies:\n  cache: yes',
      'line 2, authorizationPolicies.cache: Expected one of Enabled, Disabled, got `yes`',
    ],
    [
      'no principals',
      'authorizationPolicies:\n  rules:\n  - brokerResources: []',
      'line 3, authorizationPolicies.rules[0]: Expected `principals`, got nothing',
    ],
    [
      'a principal that is not known',
      'authorizationPolicies:\n  rules:\n  - principals: { user: [u] }',
      'line 3, authorizationPolicies.rules[0].principals: Expected none but usernames, clientIds, attributes, got `user`',
    ],
    [
      'one name instead of a list',
      'authorizationPolicies:\n  rules:\n  - principals: { usernames: u }',
      'line 3, authorizationPolicies.rules[0].principals.usernames: Expected a list, got `u`',
    ],
    [
      'attributes that everybody has',
      'authorizationPolicies:\n  rules:\n  - principals: { attributes: [{}] }',
      'line 3, authorizationPolicies.rules[0].principals.attributes[0]: Expected an attribute and its value, got none',
    ],
    [
      'a number for an attribute',
      'authorizationPolicies:\n  rules:\n  - principals: { attributes: [{ building: 17 }] }',
      'line 3, authorizationPolicies.rules[0].principals.attributes[0].building: Expected a text, got `17`; put it in quotes',
    ],
    [
      'a method that is not known',
      rule('    brokerResources: [{ method: Conect }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].method: Expected one of Connect, Publish, Subscribe, got `Conect`',
    ],
    [
      'no topics',
      rule('    brokerResources: [{ method: Publish }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0]: Expected `topics`, got none',
    ],
    [
      'topics that mean nothing',
      rule('    brokerResources: [{ method: Connect, topics: [t] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].topics: This means nothing with method Connect',
    ],
    [
      'client ids that mean nothing',
      rule('    brokerResources: [{ method: Publish, topics: [t], clientIds: [c] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].clientIds: This means nothing with method Publish',
    ],
    [
      'a topic that is none',
      rule('    brokerResources: [{ method: Publish, topics: ["a#"] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].topics[0]: Expected `+` alone in its level, and `#` alone in the last',
    ],
    [
      'a topic that goes on after its end',
      rule('    brokerResources: [{ method: Publish, topics: ["#/a"] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].topics[0]: Expected `+` alone in its level, and `#` alone in the last',
    ],
    [
      'a key type that is not known',
      rule('    stateStoreResources: [{ method: Read, keyType: Glob, keys: [a] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keyType: Expected one of Pattern, String, Binary, got `Glob`',
    ],
    [
      'no keys',
      rule('    stateStoreResources: [{ method: Read, keyType: String }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0]: Expected `method`, `keyType` and `keys`',
    ],
    [
      'what is not Base64',
      rule('    stateStoreResources: [{ method: Read, keyType: Binary, keys: ["a*"] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected Base64 with its padding',
    ],
    [
      'a place that is not known',
      rule('    stateStoreResources: [{ method: Read, keyType: String, keys: ["{principal.name}"] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected one of principal.clientId, principal.username and principal.attributes.<name>, got `{principal.name}`',
    ],
    [
      'a place without its end',
      rule('    stateStoreResources: [{ method: Read, keyType: String, keys: ["{principal.clientId"] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: `{principal` without its end in `{principal.clientId`',
    ],
    [
      'a place in a class',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['[{principal.clientId}]'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no place in a class `[...]`',
    ],
    [
      'a place in the opposite of a class',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['[^a{principal.username}]'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no place in a class `[...]`',
    ],
    [
      'a place in a class with an escaped bracket',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['a[b\\]{principal.clientId}'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no place in a class `[...]`',
    ],
    [
      'a place in a class without its end',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['[ab{principal.clientId}'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no place in a class `[...]`',
    ],
    [
      'a place after a backslash',
      rule("    brokerResources: [{ method: Connect, clientIds: ['line\\{principal.username}'] }]"),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].clientIds[0]: Expected no `\\` before a place; `\\\\` is one that means itself',
    ],
    ['a name twice', 'authorizationPolicies:\n  rules: []\n  rules: []', 'line 3: Map keys must be unique'],
    ['two documents', '[]\n---\n[]', expect.stringMatching(/^line \d: .*multiple documents/)],
    ['what is no YAML', 'a: [', expect.stringMatching(/^line \d: /)],
    ['a tag of its own', '!!js/function "x"', expect.stringMatching(/^line 1: /)],
  ])('refuses %s', (_, text, message) => {
    expect(() => parsePolicy(text)).toThrow(ArgumentError)
    expect(() => parsePolicy(text)).toThrow(expect.objectContaining({ message }))
  })

  it('refuses what grows beyond measure', () => {
    const lines = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)
    expect(() => parsePolicy(`a0: &a0 [x]\n${lines.join('\n')}`)).toThrow(ArgumentError)
    expect(() => parsePolicy(' '.repeat(1024 * 1024 + 1))).toThrow(ArgumentError)
  })

  it('throws nothing but an argument error, whatever the file', () => {
    const piece = fc.constantFrom(
      ...STATE_STORE.split(/(?<=[\n\s:,{}[\]"])/),
      ...[
        '&a ',
        '*a',
        '!!',
        '---\n',
        '...',
        '{principal.',
        '__proto__: ',
        'null',
        '\0',
        '? ',
        '|\n',
        '>-\n',
        '<<: ',
        '%YAML',
        '\t',
      ],
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 60 }).map(pieces => pieces.join('')),
          fc.string(),
        ),
        text => {
          try {
            parsePolicy(text)
          } catch (error) {
            expect(error).toBeInstanceOf(ArgumentError)
          }
        },
      ),
      { numRuns: effort(3_000, 300) },
    )
  })
})
