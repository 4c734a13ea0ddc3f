import { describe, expect, it } from 'vitest'
import { isTopicFilter, isTopicName } from '../../../src/core/mqtt5/topic.js'

describe('isTopicName', () => {
  it.each(['a', '/', 'a//b', '$SYS/x', ' ', '$share/g/a'])('accepts %j', topic => expect(isTopicName(topic)).toBe(true))
  it.each(['', '#', 'a/+', 'a+', 'a#b'])('rejects %j', topic => expect(isTopicName(topic)).toBe(false))
})

describe('isTopicFilter', () => {
  it.each([
    'a',
    '/',
    '#',
    '+',
    'a/#',
    '/#',
    '+/+',
    'a/+/b',
    '+/#',
    'a//b',
    '$SYS/#',
    '$share',
    '$share/g/#',
    '$share/g//',
  ])('accepts %j', filter => expect(isTopicFilter(filter)).toBe(true))
  it.each([
    '',
    'a#',
    '#/a',
    'a/#/b',
    'a+',
    '+a',
    'a/b+/c',
    '##',
    '++',
    '$share/',
    '$share/g',
    '$share/g/',
    '$share//a',
  ])('rejects %j', filter => expect(isTopicFilter(filter)).toBe(false))
  it.each(['$share/g+/a', '$share/#/a', '$share/g/a#'])('rejects %j', filter =>
    expect(isTopicFilter(filter)).toBe(false),
  )
})
