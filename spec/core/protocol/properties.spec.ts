import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { readPosition, readVersion } from '../../../src/core/protocol/properties.js'

const VERSION = '0001696374425000:00001:Broker'

describe('readVersion', () => {
  it('returns the version of a response or a notification', () => {
    expect(readVersion({ userProperties: { __ts: VERSION } })).toEqual(Hlc.parse(VERSION))
  })

  it('returns undefined if there is no version', () => {
    expect(readVersion({ userProperties: {} })).toBeUndefined()
  })

  it.each([
    ['is malformed', 'now'],
    ['comes twice', [VERSION, VERSION]],
  ])('throws a payload error for a version that %s', (_, __ts) => {
    expect(() => readVersion({ userProperties: { __ts } })).toThrow(expect.objectContaining({ code: 'payload' }))
  })
})

describe('readPosition', () => {
  it('returns the position of a missing key', () => {
    expect(readPosition({ userProperties: { __pos: VERSION } })).toEqual(Hlc.parse(VERSION))
  })

  it.each([
    ['there is no position', {}],
    ['another store uses the property with another meaning', { __pos: 'left' }],
    ['the property occurs twice', { __pos: [VERSION, VERSION] }],
  ])('returns undefined when %s', (_, userProperties) => {
    expect(readPosition({ userProperties })).toBeUndefined()
  })
})
