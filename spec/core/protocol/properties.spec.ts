import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { readPosition, readVersion } from '../../../src/core/protocol/properties.js'

const VERSION = '0001696374425000:00001:Broker'

describe('readVersion', () => {
  it('reads the version of a response or a notification', () => {
    expect(readVersion({ userProperties: { __ts: VERSION } })).toEqual(Hlc.parse(VERSION))
  })

  it('returns undefined without a version', () => {
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
  it('reads the position of a missing key', () => {
    expect(readPosition({ userProperties: { __pos: VERSION } })).toEqual(Hlc.parse(VERSION))
  })

  it.each([
    ['there is none', {}],
    ['another store means something else by it', { __pos: 'left' }],
    ['it comes twice', { __pos: [VERSION, VERSION] }],
  ])('returns undefined when %s', (_, userProperties) => {
    expect(readPosition({ userProperties })).toBeUndefined()
  })
})
