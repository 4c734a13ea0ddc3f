import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { utf8 } from '../../../src/core/util/bytes.js'
import { parsePolicy } from '../../../src/server/access/policy.js'
import { type Action, Rights } from '../../../src/server/access/rights.js'
import { effort, nightly } from '../../support/effort.js'
import { isAllowedNaively, type PlainRule, type Question } from './naive-rights.js'

const CHARACTERS = ['\\', '[', ']', '-', '^', '!']
// Generates mostly the same word, and few special characters, because otherwise nothing would match.
const text = fc.oneof(
  { weight: 9, arbitrary: fc.constant('a') },
  { weight: 9, arbitrary: fc.constantFrom('a', 'b', 'c', '*', '?', 'ab', 'a*', '+', '#', 'a/b', '$x') },
  { weight: 1, arbitrary: fc.constantFrom(...CHARACTERS, '[a]', '^a', 'a-c', '\\*') },
)
const place = fc.constantFrom(
  '{principal.clientId}',
  '{principal.username}',
  '{principal.attributes.x}',
  '{principal.attributes.y}',
)
const attributes = fc.dictionary(fc.constantFrom('x', 'y'), text, { minKeys: 1, maxKeys: 2, noNullPrototype: true })

const glob = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('a', '*') },
      { weight: 9, arbitrary: fc.constantFrom('a', 'b', 'c', '*', '?', ':') },
      { weight: 1, arbitrary: fc.constantFrom('-', '!', '^', ']', '[ab]', '[^a]', '\\*') },
      { weight: 6, arbitrary: place },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map(parts => parts.join(''))
const level = fc.oneof(fc.constantFrom('a', 'b', 'c', '+', '', '$x'), place)
const filterOf = (part: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(part, { maxLength: 3 }), fc.boolean())
    .map(([levels, all]) => [...levels, ...(all ? ['#'] : [])].join('/'))
    .filter(text => text !== '')

const principals = fc.record(
  {
    usernames: fc.array(text, { maxLength: 2 }),
    clientIds: fc.array(text, { maxLength: 2 }),
    attributes: fc.array(attributes, { maxLength: 2 }),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const brokerResource = fc.oneof(
  fc.record({ method: fc.constant('Connect'), clientIds: fc.array(glob, { maxLength: 2 }) }, { noNullPrototype: true }),
  fc.record(
    {
      method: fc.constantFrom('Publish', 'Subscribe'),
      topics: fc.array(filterOf(level), { minLength: 1, maxLength: 2 }),
    },
    { noNullPrototype: true },
  ),
)
const method = fc.constantFrom('Read', 'Write', 'ReadWrite')
const keyResource = fc.oneof(
  fc.record(
    { method, keyType: fc.constantFrom('Pattern', 'String'), keys: fc.array(glob, { maxLength: 2 }) },
    { noNullPrototype: true },
  ),
  fc.record(
    { method, keyType: fc.constant('Binary'), keys: fc.array(text.map(text => Buffer.from(text).toString('base64'))) },
    { noNullPrototype: true },
  ),
)
const plainRule: fc.Arbitrary<PlainRule> = fc.record(
  {
    principals,
    brokerResources: fc.array(brokerResource, { maxLength: 3 }),
    stateStoreResources: fc.array(keyResource, { maxLength: 3 }),
  },
  { noNullPrototype: true },
)
const subject = fc.record(
  { clientId: text, username: fc.option(text, { nil: undefined }), attributes },
  { noNullPrototype: true },
)
const key = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: fc.constant('a') },
      { weight: 9, arbitrary: fc.constantFrom('a', 'b', 'c', '*', '?', ':', 'ab') },
      { weight: 1, arbitrary: fc.constantFrom(...CHARACTERS) },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map(parts => parts.join(''))
const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({ what: fc.constantFrom('Connect'), name: fc.constant('') }),
  fc.record({
    what: fc.constantFrom('Publish'),
    name: filterOf(fc.constantFrom('a', 'b', '', '$x')).filter(text => !text.includes('#')),
  }),
  fc.record({
    what: fc.constantFrom('Subscribe'),
    // `/#` would also match the empty topic name, which no message can have, so only the policy takes it into account.
    name: filterOf(fc.constantFrom('a', 'b', '+', '', '$x')).filter(name => name !== '/#'),
  }),
  fc.record({ what: fc.constantFrom('Read', 'Write'), name: key }),
)

function actionOf({ what, name }: Question): Action {
  if (what === 'Connect') return { type: 'connect' }
  if (what === 'Publish') return { type: 'publish', topic: name }
  if (what === 'Subscribe') return { type: 'subscribe', filter: name }
  return { type: what === 'Read' ? 'read' : 'write', key: utf8(name) }
}

const RUNS = effort(nightly(600, 200), 30)

describe('a random policy', () => {
  it('grants the same rights as a naive evaluation of its rules', () => {
    let allowed = 0
    fc.assert(
      fc.property(
        fc.array(plainRule, { maxLength: 3 }),
        subject,
        fc.array(question, { minLength: 10, maxLength: 20 }),
        (rules, client, questions) => {
          const rights = new Rights(parsePolicy(JSON.stringify({ authorizationPolicies: { rules } })), client)
          for (const asked of questions) {
            const expected = isAllowedNaively(rules, client, asked)
            if (expected) allowed++
            expect({ ...asked, allowed: rights.allows(actionOf(asked)) }).toEqual({ ...asked, allowed: expected })
            if (asked.what === 'Read') expect(rights.readable.matches(utf8(asked.name))).toBe(expected)
          }
        },
      ),
      { numRuns: RUNS },
    )
    // Fails if the policies deny almost everything.
    expect(allowed).toBeGreaterThan(RUNS / 10)
  }, 60_000)
})
