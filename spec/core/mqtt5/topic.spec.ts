import { describe, expect, it } from 'vitest'
import { isTopicFilter, isTopicName } from '../../../src/core/mqtt5/topic.js'

describe('isTopicName', () => {
  it.each(['a', '/', 'a//b', '$SYS/x', ' ', '$share/g/a'])('takes %j', topic => expect(isTopicName(topic)).toBe(true))
  it.each(['', '#', 'a/+', 'a+', 'a#b'])('refuses %j', topic => expect(isTopicName(topic)).toBe(false))
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
  ])('takes %j', filter => expect(isTopicFilter(filter)).toBe(true))
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
  ])('refuses %j', filter => expect(isTopicFilter(filter)).toBe(false))
  it.each(['$share/g+/a', '$share/#/a', '$share/g/a#'])('refuses %j', filter =>
    expect(isTopicFilter(filter)).toBe(false),
  )
})
