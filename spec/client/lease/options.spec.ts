import { describe, expect, it } from 'vitest'
import type { StateStore } from '../../../src/client/connect/client.js'
import { fenced } from '../../../src/client/lease/fenced.js'
import { lease } from '../../../src/client/lease/lease.js'
import type { LeaseOptions } from '../../../src/client/lease/lease-options.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { fakeStore } from '../../support/operator-session.js'

describe('arguments of lease', () => {
  it.each<[string, unknown, RegExp]>([
    ['no options', undefined, /the (duration|options) of (the )?lease/],
    ['null as options', null, /the (duration|options) of (the )?lease/],
    ['a bigint', { duration: 10n }, /`duration` to be a positive integer up to 2\^53 - 1, got `10` \(bigint\)/],
    ['no duration', {}, /`duration` to be a positive integer up to 2\^53 - 1, got `undefined`/],
    ['a duration of 0', { duration: 0 }, /`duration` to be a positive integer up to 2\^53 - 1, got `0`/],
    ['a negative duration', { duration: -1 }, /`duration`/],
    ['a duration of half a millisecond', { duration: 0.5 }, /`duration`/],
    ['an infinite duration', { duration: Number.POSITIVE_INFINITY }, /`duration`/],
    ['a duration as a string', { duration: '10s' }, /`duration`.*\(string\)/],
    [
      'a renewEvery of 0',
      { duration: 10, renewEvery: 0 },
      /`renewEvery` to be a positive integer up to 2\^53 - 1, got `0`/,
    ],
    ['a negative renewEvery', { duration: 10, renewEvery: -3 }, /`renewEvery`/],
    [
      'a renewEvery as long as the duration',
      { duration: 10, renewEvery: 10 },
      /`renewEvery` to be less than `duration`, got `10` and `10`/,
    ],
    ['a duration too short to renew', { duration: 1 }, /`duration` to be at least 2 ms/],
    ['an empty holder', { duration: 10, holder: '' }, /`holder` to be a text of at least one character/],
    ['a holder that is not text', { duration: 10, holder: 7 }, /`holder`.*\(number\)/],
    ['a holder with an unpaired surrogate', { duration: 10, holder: '\ud800' }, /`holder`/],
  ])('`lease` throws before anything is sent: %s', (_, options, message) => {
    const { store, session } = fakeStore(() => {
      throw new Error('nothing may be sent')
    })
    // @ts-expect-error wrong options from untyped code
    const wrong = () => lease(store, 'line', options)
    expect(wrong).toThrow(ArgumentError)
    expect(wrong).toThrow(message)
    expect(session.requests).toEqual([])
  })

  it.each([
    ['a fenced view', (store: StateStore) => fenced(store, '1:0:a')],
    ['undefined', () => undefined],
  ])('%s instead of a client throws', (_, of) => {
    const { store } = fakeStore(() => {
      throw new Error('nothing may be sent')
    })
    // @ts-expect-error wrong store from untyped code
    expect(() => lease(of(store), 'line', { duration: 10 })).toThrow(/^Expected a store of `connect`, got /)
  })

  it('`lease` throws for an empty name', () => {
    const { store } = fakeStore(() => {
      throw new Error('nothing may be sent')
    })
    expect(() => lease(store, '', { duration: 10 })).toThrow(ArgumentError)
  })

  it.each<LeaseOptions>([{ duration: 2 }, { duration: 10_000 }, { duration: 10, renewEvery: 9, holder: 'ich' }])(
    'the options %j are accepted',
    options => {
      const { store } = fakeStore(() => {
        throw new Error('nothing may be sent')
      })
      expect(lease(store, 'line', options).name).toBe('line')
    },
  )
})
