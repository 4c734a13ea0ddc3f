import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePattern } from '../../../src/client/retained/pattern.js'

describe('parsePattern', () => {
  it.each([
    ['plant/+/temp', 'plant/{1}/temp', 'plant/7/temp', 'plant/7/temp'],
    ['plant/+/+', 'of {2}/{1}', 'plant/7/temp', 'of temp/7'],
    ['plant/#', 'mirror/{#}', 'plant/7/temp', 'mirror/7/temp'],
    ['+/plant/#', '{#}/at/{1}', 'a/plant/7/temp', '7/temp/at/a'],
    ['#', '{#}', 'a/b', 'a/b'],
    ['one', 'another', 'one', 'another'],
    ['+/x', '{1}', '/x', ''],
    ['a.b/+', 'a*b/{1}', 'a.b/c?', 'a*b/c?'],
  ])('%s maps to %s and back', (filter, key, topic, itsKey) => {
    const pattern = parsePattern(filter, key)
    expect(pattern.toKey(topic)).toBe(itsKey)
    expect(pattern.toTopic(itsKey)).toBe(topic)
  })

  it('other topics and keys are not mapped', () => {
    const { toKey, toTopic } = parsePattern('plant/+/temp', 'plant/{1}/temp')
    expect(toKey('plant/7/8/temp')).toBeUndefined()
    expect(toKey('plant/7')).toBeUndefined()
    expect(toTopic('plant/7/8/temp')).toBeUndefined()
    expect(toTopic('xplant/7/temp')).toBeUndefined()
  })

  it('topics of the store and the broker are not mapped', () => {
    const { toKey, toTopic } = parsePattern('#', '{#}')
    for (const topic of [
      '$SYS/x',
      'statestore/v1/x',
      'rx-statestore/v1/life',
      'clients/a/services/statestore/response',
    ]) {
      expect(toKey(topic)).toBeUndefined()
      expect(toTopic(topic)).toBeUndefined()
    }
    expect(toKey('clients/a/state')).toBe('clients/a/state')
  })

  it('the glob of a pattern matches all its keys', () => {
    expect(parsePattern('plant/+/temp', 'a*[b]/{1}/temp').glob).toBe('a\\*\\[b\\]/*/temp')
    expect(parsePattern('plant/+/#', '{1}/{#}').glob).toBe('*/*')
  })

  it.each([
    ['', 'a', '`topic`'],
    ['a/#/b', 'a', '`topic`'],
    ['a/b+', 'a', '`topic`'],
    ['a\0', 'a', '`topic`'],
    ['$SYS/+', '{1}', 'only your own topics'],
    ['rx-statestore/v1/+', '{1}', 'only your own topics'],
    ['a/+', 'a', '{1} once'],
    ['a/+', '{1}/{1}', '{1} once'],
    ['a/+', '{1}/{2}', '{1} once'],
    ['a/+/#', '{1}', '{1}, {#} once'],
    ['a', '{1}', 'no placeholders'],
    ['+/+', '{1}{2}', 'a / between'],
    ['+/+', '{1}-{2}', 'a / between'],
    ['a', '', '`keys`'],
  ])('the topic pattern %s with the key pattern %s is rejected', (filter, key, words) => {
    expect(() => parsePattern(filter, key)).toThrow(words)
  })

  it('each topic maps to one key, and the key back to the topic', () => {
    const level = fc.string({ unit: 'grapheme-ascii', maxLength: 4 }).filter(text => !/[+#\0/$\p{Cs}]/u.test(text))
    fc.assert(
      fc.property(level, level, fc.array(level, { minLength: 1, maxLength: 3 }), (one, two, rest) => {
        const { toKey, toTopic } = parsePattern('x/+/+/#', 'y{2}/{#}/z{1}')
        const topic = ['x', one, two, ...rest].join('/')
        const key = toKey(topic)
        expect(key).toBe(`y${two}/${rest.join('/')}/z${one}`)
        expect(toTopic(key ?? '')).toBe(topic)
      }),
    )
  })
})
