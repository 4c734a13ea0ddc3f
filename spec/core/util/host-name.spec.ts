import { describe, expect, it } from 'vitest'
import { isAddress, isLoopback, nameOf } from '../../../src/core/util/host-name.js'

describe('nameOf', () => {
  it.each([
    ['Store.Example:8083', 'store.example'],
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]:80', '[::1]'],
    ['a_b-c.example', 'a_b-c.example'],
  ])('returns the host name in %s without the port', (host, name) => {
    expect(nameOf(host)).toBe(name)
  })

  it.each(['', ':80', 'a b', 'a/b', 'user@host', 'a:123456', '::1', '[zz]', 'x'.repeat(254)])(
    'returns undefined for %j',
    host => {
      expect(nameOf(host)).toBeUndefined()
    },
  )
})

describe('isAddress', () => {
  it.each(['127.0.0.1', '192.0.2.7', '[::1]', '[2001:db8::1]'])('is true for %s', name => {
    expect(isAddress(name)).toBe(true)
  })

  it.each(['localhost', '127.0.0.1.example', '1.2.3', '::1'])('is false for %s', name => {
    expect(isAddress(name)).toBe(false)
  })
})

describe('isLoopback', () => {
  it.each(['localhost', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])('is true for %s', name => {
    expect(isLoopback(name)).toBe(true)
  })

  it.each(['localhost.example', '127.0.0.1.example', '128.0.0.1', '[::2]', 'notlocalhost'])('is false for %s', name => {
    expect(isLoopback(name)).toBe(false)
  })
})
