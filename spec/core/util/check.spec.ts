import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkOptionNames, nearestName } from '../../../src/core/util/check.js'

const KNOWN = { clientId: true, keepAlive: true, ifAbsent: true, port: true }
const refusal = (message: string) => expect.objectContaining({ code: 'argument', message })

describe('checkOptionNames', () => {
  it('accepts known options and missing options', () => {
    expect(() => checkOptionNames('connect', { clientId: 'a', ifAbsent: undefined }, KNOWN)).not.toThrow()
    expect(() => checkOptionNames('connect', {}, KNOWN)).not.toThrow()
  })

  it.each([
    ['clientID', 'clientId'],
    ['keepalive', 'keepAlive'],
    ['ifabsent', 'ifAbsent'],
    ['ifAbsnt', 'ifAbsent'],
    ['iffAbsent', 'ifAbsent'],
    ['prot', 'port'],
  ])('suggests a correction for %s', (written, meant) => {
    expect(() => checkOptionNames('connect', { [written]: 1 }, KNOWN)).toThrow(
      refusal(`Unknown option \`${written}\` of connect: did you mean \`${meant}\`?`),
    )
  })

  it('suggests a correction for a name that other APIs use', () => {
    expect(() => checkOptionNames('set', { nx: true }, KNOWN, { nx: 'ifAbsent' })).toThrow(
      refusal('Unknown option `nx` of set: did you mean `ifAbsent`?'),
    )
  })

  it.each(['retries', 'x', 'toString', '__proto__x'])(
    'lists all options for %s, which resembles none of them',
    name => {
      expect(() => checkOptionNames('set', { [name]: 1 }, KNOWN)).toThrow(
        refusal(`Unknown option \`${name}\` of set: known are \`clientId\`, \`keepAlive\`, \`ifAbsent\`, \`port\``),
      )
    },
  )

  it.each([5, 'x', null, undefined])('rejects %j, which is not an object', wrong => {
    const check = () => Reflect.apply(checkOptionNames, undefined, ['set', wrong, KNOWN])
    expect(check).toThrow(expect.objectContaining({ code: 'argument', message: expect.stringContaining('of set') }))
  })

  it('truncates a long name in the error', () => {
    expect(() => checkOptionNames('set', { ['x'.repeat(1e6)]: 1 }, KNOWN)).toThrow(/^Unknown option `x{80}` of set/)
  })

  it('rejects every unknown name and no known name', () => {
    fc.assert(
      fc.property(fc.string(), name => {
        const check = () => checkOptionNames('set', { [name]: 1 }, KNOWN)
        if (Object.hasOwn(KNOWN, name)) expect(check).not.toThrow()
        else if (name !== '__proto__') expect(check).toThrow(expect.objectContaining({ code: 'argument' }))
      }),
    )
  })
})

describe('nearestName', () => {
  it.each([
    ['maxKeys', 'max-keys'],
    ['MAX_KEYS', 'max-keys'],
    ['max-kyes', 'max-keys'],
    ['pert', 'port'],
    ['xy', undefined],
    ['colour', undefined],
  ])('finds for %s the name %s', (name, expected) => {
    expect(nearestName(name, ['port', 'max-keys'])).toBe(expected)
  })
})
