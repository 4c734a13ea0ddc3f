import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { readPosition, readVersion } from '../../../src/core/protocol/properties.js'

const VERSION = '0001696374425000:00001:Broker'

describe('versionOf', () => {
  it('reads the version of a response or a notification', () => {
    expect(readVersion({ userProperties: { __ts: VERSION } })).toEqual(Hlc.parse(VERSION))
  })

  it('is undefined where there is none', () => {
    expect(readVersion({ userProperties: {} })).toBeUndefined()
  })

  it.each([
    ['is malformed', 'now'],
    ['comes twice', [VERSION, VERSION]],
  ])('raises a payload error for one that %s', (_, __ts) => {
    expect(() => readVersion({ userProperties: { __ts } })).toThrow(expect.objectContaining({ code: 'payload' }))
  })
})

describe('positionOf', () => {
  it('reads the place of an absence', () => {
    expect(readPosition({ userProperties: { __pos: VERSION } })).toEqual(Hlc.parse(VERSION))
  })

  it.each([
    ['there is none', {}],
    ['another store means something else by it', { __pos: 'left' }],
    ['it comes twice', { __pos: [VERSION, VERSION] }],
  ])('is undefined when %s', (_, userProperties) => {
    expect(readPosition({ userProperties })).toBeUndefined()
  })
})
