import { describe, expect, it } from 'vitest'
import { splitCredentials } from '../../../src/client/session/url-credentials.js'

describe('the user name and password of an address', () => {
  it.each([
    ['user', 'user', undefined],
    ['user:', 'user', undefined],
    [':pw', undefined, 'pw'],
    ['user:pa:ss', 'user', 'pa:ss'],
    ['user:pa%3Ass', 'user', 'pa:ss'],
    ['us%3Aer:pw', 'us:er', 'pw'],
    ['user:p%40ss%2F%23', 'user', 'p@ss/#'],
    ['user:100%', 'user', '100%'],
    ['user:%zz%41', 'user', '%zzA'],
    ['us%C3%A9r:%E2%82%AC', 'usér', '€'],
  ])('are split and decoded by the rules of URLs: %s', (userInfo, username, password) => {
    for (const scheme of ['mqtt', 'ws'])
      expect(splitCredentials(`${scheme}://${userInfo}@h:1883/p?q`)).toEqual({
        address: `${scheme}://h:1883/p?q`,
        ...(username !== undefined && { username }),
        ...(password !== undefined && { password }),
      })
  })

  it('are absent in most addresses, which then stay the same', () => {
    expect(splitCredentials('mqtt://h')).toEqual({ address: 'mqtt://h' })
  })

  it('are refused if they are not UTF-8, without being shown', () => {
    expect(() => splitCredentials('mqtt://user:secret%ff@h')).toThrow(
      expect.objectContaining({ code: 'argument', message: expect.not.stringContaining('secret') }),
    )
  })
})
