import { describe, expect, it } from 'vitest'
import { checkName, hubKey, isHubName, isName, nameProblem } from '../../../src/pubsub/wire/rules.js'

const argument = expect.objectContaining({ code: 'argument' })

describe('the name of a group or an event', () => {
  it.each(['a', 'line-1', 'x'.repeat(1024), ' a ', 'a\u0000', 'ÿ', '😀'.repeat(512)])(
    'isName and checkName accept 1 to 1024 characters: %#',
    name => {
      expect([isName(name), nameProblem('group', name)]).toEqual([true, undefined])
      expect(() => checkName('group', name)).not.toThrow()
    },
  )

  it.each<[string, unknown]>([
    ['none', undefined],
    ['a number', 7],
    ['an empty name', ''],
    ['a blank name', ' \n\u00a0'],
    ['1025 characters', 'x'.repeat(1025)],
    ['an unpaired surrogate', 'a\uD800'],
    ['513 characters that take two code units each', '😀'.repeat(513)],
  ])('an invalid name is rejected: %s', (_, name) => {
    expect(isName(name)).toBe(false)
    expect(nameProblem('event', name)).toMatch(/^event must /)
    expect(() => Reflect.apply(checkName, undefined, ['event', name])).toThrow(argument)
  })
})

describe('the name of a hub', () => {
  it.each(['a', 'Chat', 'a1_`,.[]', `a${'1'.repeat(127)}`])('a hub may be named %s', name => {
    expect([isHubName(name), isHubName(hubKey(name))]).toEqual([true, true])
  })

  it.each(['', '1a', 'a b', 'a-b', 'ä', `a${'1'.repeat(128)}`, undefined, ['a']])('a hub cannot be named %s', name => {
    expect(isHubName(name)).toBe(false)
  })

  it('hub names are case-insensitive', () => {
    expect(hubKey('Chat')).toBe(hubKey('cHAT'))
  })
})
