import { describe, expect, it } from 'vitest'
import { toGlob } from '../../../../console/src/model/glob.js'
import { libraryKey, sortByName, toListedKey } from '../../../../console/src/model/listed-key.js'
import { toFragment, toRoute } from '../../../../console/src/model/route.js'
import { compileRequestGlob } from '../../../../src/core/protocol/parse-command.js'
import { toHex, utf8 } from '../../../../src/core/util/bytes.js'

describe('toGlob', () => {
  it.each([
    ['', '*'],
    ['asset/*', 'asset/*'],
    ['a?', 'a?'],
    ['[ab]', '[ab]'],
    ['set', '*set*'],
    ['thermostat1\\', '*thermostat1\\\\*'],
  ])('the search text %j becomes the glob %j', (typed, glob) => {
    expect(toGlob(typed)).toBe(glob)
  })

  it.each(['thermostat1\\setPoint', 'a-b!c^d]e', 'line 1'])('a plain word matches anywhere in a key: %j', word => {
    const { matches } = compileRequestGlob(utf8(toGlob(word)))
    expect(matches(utf8(`before ${word} after`))).toBe(true)
    expect(matches(utf8('something else'))).toBe(false)
  })
})

describe('A listed key', () => {
  it('the id of a listed key determines its name and whether it is binary', () => {
    expect(toListedKey(toHex(utf8('grün')))).toEqual({ id: '6772C3BC6E', name: 'grün', binary: false })
    expect(toListedKey('FF00')).toEqual({ id: 'FF00', name: '0xFF00', binary: true })
  })

  it('a text key and a binary key with the same name are different', () => {
    const text = toListedKey(toHex(utf8('0xFF00')))
    expect([libraryKey(text), libraryKey(toListedKey('FF00'))]).toEqual(['0xFF00', new Uint8Array([255, 0])])
  })

  it('keys are sorted by name, with numbers in numeric order', () => {
    const keys = ['line-10', 'line-9', 'Asset', 'asset/2', 'asset/10'].map(name => toListedKey(toHex(utf8(name))))
    expect(sortByName(keys).map(({ name }) => name)).toEqual(['Asset', 'asset/2', 'asset/10', 'line-9', 'line-10'])
  })
})

describe('Routes', () => {
  it.each([
    ['#/keys', { view: 'keys' }],
    ['#/keys/6772', { view: 'keys', id: '6772' }],
    ['#/clients', { view: 'clients' }],
    ['#/store', { view: 'store' }],
  ] as const)('a route is formatted and parsed as %s', (fragment, route) => {
    expect(toRoute(fragment)).toEqual(route)
    expect(toFragment(route)).toBe(fragment)
  })

  it.each(['', '#', '#/nowhere', '#/keys/xyz', '#token=1'])('%j is parsed as the keys view', fragment => {
    expect(toRoute(fragment)).toEqual({ view: 'keys' })
  })
})
