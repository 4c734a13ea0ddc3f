import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { parsePolicy } from '../../../src/server/access/policy.js'
import { effort } from '../../support/effort.js'
import { CLIENT_IDS, SERVICE_ACCOUNT, STATE_STORE, USERNAMES_AND_ATTRIBUTES } from './pages.js'

const rule = (text: string): string => `authorizationPolicies:\n  rules:\n  - principals: { usernames: [u] }\n${text}`

describe('parsePolicy', () => {
  it.each([USERNAMES_AND_ATTRIBUTES, CLIENT_IDS, SERVICE_ACCOUNT, STATE_STORE])("accepts AIO's example %#", text => {
    expect(parsePolicy(text).rules).toHaveLength(1)
  })

  it.each([
    ['an empty file', '', 'the file: Expected a map, got `null`'],
    ['a text', 'no policy', 'line 1: Expected a map, got `no policy`'],
    [
      'a resource without policies',
      'kind: BrokerAuthorization',
      'line 1: Expected `authorizationPolicies`, but it is missing',
    ],
    [
      'another kind of resource',
      'kind: BrokerAuthentication',
      'line 1, kind: Expected one of BrokerAuthorization, got `BrokerAuthentication`',
    ],
    [
      'an unknown field',
      'authorizationPolicies:\n  rule: []',
      'line 2, authorizationPolicies: Expected only cache, enableCache, rules, got `rule`',
    ],
    [
      'an unknown cache mode',
      'authorizationPolicies:\n  cache: yes',
      'line 2, authorizationPolicies.cache: Expected one of Enabled, Disabled, got `yes`',
    ],
    [
      'a rule without principals',
      'authorizationPolicies:\n  rules:\n  - brokerResources: []',
      'line 3, authorizationPolicies.rules[0]: Expected `principals`, but it is missing',
    ],
    [
      'an unknown kind of principal',
      'authorizationPolicies:\n  rules:\n  - principals: { user: [u] }',
      'line 3, authorizationPolicies.rules[0].principals: Expected only usernames, clientIds, attributes, got `user`',
    ],
    [
      'one name instead of a list',
      'authorizationPolicies:\n  rules:\n  - principals: { usernames: u }',
      'line 3, authorizationPolicies.rules[0].principals.usernames: Expected a list, got `u`',
    ],
    [
      'an empty map of attributes',
      'authorizationPolicies:\n  rules:\n  - principals: { attributes: [{}] }',
      'line 3, authorizationPolicies.rules[0].principals.attributes[0]: Expected an attribute and its value, got none',
    ],
    [
      'a number for an attribute',
      'authorizationPolicies:\n  rules:\n  - principals: { attributes: [{ building: 17 }] }',
      'line 3, authorizationPolicies.rules[0].principals.attributes[0].building: Expected a non-empty string, got `17`; quote it',
    ],
    [
      'an unknown method',
      rule('    brokerResources: [{ method: Conect }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].method: Expected one of Connect, Publish, Subscribe, got `Conect`',
    ],
    [
      'a resource without topics',
      rule('    brokerResources: [{ method: Publish }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0]: Expected `topics`, got none',
    ],
    [
      'topics with method Connect',
      rule('    brokerResources: [{ method: Connect, topics: [t] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].topics: Not allowed with method Connect',
    ],
    [
      'client ids with method Publish',
      rule('    brokerResources: [{ method: Publish, topics: [t], clientIds: [c] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].clientIds: Not allowed with method Publish',
    ],
    [
      'an invalid topic filter',
      rule('    brokerResources: [{ method: Publish, topics: ["a#"] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].topics[0]: Expected `+` to fill its level, and `#` to fill the last level',
    ],
    [
      'a topic filter that continues after #',
      rule('    brokerResources: [{ method: Publish, topics: ["#/a"] }]'),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].topics[0]: Expected `+` to fill its level, and `#` to fill the last level',
    ],
    [
      'an unknown key type',
      rule('    stateStoreResources: [{ method: Read, keyType: Glob, keys: [a] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keyType: Expected one of Pattern, String, Binary, got `Glob`',
    ],
    [
      'a resource without keys',
      rule('    stateStoreResources: [{ method: Read, keyType: String }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0]: Expected `method`, `keyType` and `keys`, but at least one is missing',
    ],
    [
      'invalid Base64',
      rule('    stateStoreResources: [{ method: Read, keyType: Binary, keys: ["a*"] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected Base64 with padding',
    ],
    [
      'an unknown placeholder',
      rule('    stateStoreResources: [{ method: Read, keyType: String, keys: ["{principal.name}"] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected one of principal.clientId, principal.username and principal.attributes.<name>, got `{principal.name}`',
    ],
    [
      'an unclosed placeholder',
      rule('    stateStoreResources: [{ method: Read, keyType: String, keys: ["{principal.clientId"] }]'),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: unclosed `{principal` in `{principal.clientId`',
    ],
    [
      'a placeholder in a class',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['[{principal.clientId}]'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no placeholder in a class `[...]`',
    ],
    [
      'a placeholder in a negated class',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['[^a{principal.username}]'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no placeholder in a class `[...]`',
    ],
    [
      'a placeholder in a class with an escaped bracket',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['a[b\\]{principal.clientId}'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no placeholder in a class `[...]`',
    ],
    [
      'a placeholder in an unclosed class',
      rule("    stateStoreResources: [{ method: Read, keyType: Pattern, keys: ['[ab{principal.clientId}'] }]"),
      'line 4, authorizationPolicies.rules[0].stateStoreResources[0].keys[0]: Expected no placeholder in a class `[...]`',
    ],
    [
      'a placeholder after a backslash',
      rule("    brokerResources: [{ method: Connect, clientIds: ['line\\{principal.username}'] }]"),
      'line 4, authorizationPolicies.rules[0].brokerResources[0].clientIds[0]: Expected no `\\` before a placeholder; use `\\\\` for a literal backslash',
    ],
    ['a duplicate field', 'authorizationPolicies:\n  rules: []\n  rules: []', 'line 3: Map keys must be unique'],
    ['two documents', '[]\n---\n[]', expect.stringMatching(/^line \d: .*multiple documents/)],
    ['invalid YAML', 'a: [', expect.stringMatching(/^line \d: /)],
    ['a custom tag', '!!js/function "x"', expect.stringMatching(/^line 1: /)],
  ])('rejects a policy with %s', (_, text, message) => {
    expect(() => parsePolicy(text)).toThrow(ArgumentError)
    expect(() => parsePolicy(text)).toThrow(expect.objectContaining({ message }))
  })

  it('rejects an exponential expansion of aliases', () => {
    const lines = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)
    expect(() => parsePolicy(`a0: &a0 [x]\n${lines.join('\n')}`)).toThrow(ArgumentError)
    expect(() => parsePolicy(' '.repeat(1024 * 1024 + 1))).toThrow(ArgumentError)
  })

  it('parses any other text or throws an ArgumentError', () => {
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
