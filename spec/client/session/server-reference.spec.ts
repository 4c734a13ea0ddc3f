import { assert, constantFrom, integer, oneof, property, string, stringMatching, tuple } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseReferences } from '../../../src/client/session/addresses.js'
import { anyCodePoint } from '../../support/any-code-point.js'

describe('parsing a server reference', () => {
  it.each([
    ['b', [{ host: 'b', port: undefined }]],
    ['B.example.org:8883', [{ host: 'b.example.org', port: 8883 }]],
    ['10.0.0.5:1883', [{ host: '10.0.0.5', port: 1883 }]],
    ['[::1]', [{ host: '[::1]', port: undefined }]],
    [
      '[2001:db8::1]:1 b',
      [
        { host: '[2001:db8::1]', port: 1 },
        { host: 'b', port: undefined },
      ],
    ],
    [
      ' b   c:2 ',
      [
        { host: 'b', port: undefined },
        { host: 'c', port: 2 },
      ],
    ],
  ])('a server reference yields its hosts and ports: %j', (text, expected) => {
    expect(parseReferences(text)).toEqual(expected)
  })

  it.each([
    '',
    ' ',
    ':1',
    'b:',
    'b:0',
    'b:65536',
    'b:99999',
    'b:1e3',
    '[::1',
    '[zz]',
    '[:::]',
    'a/b',
    'u@b',
    'mqtt://b:1',
    'a%20b',
    'bü',
    'a\0',
    'b\n:1',
  ])('a text without hosts yields no addresses: %j', text => {
    expect(parseReferences(text)).toEqual([])
  })

  it.each([undefined, null, 7, ['b', 'c'], {}, 'b '.repeat(3_000)])(
    'a value that is not a valid text yields no addresses: %#',
    text => {
      expect(parseReferences(text)).toEqual([])
    },
  )

  it('at most sixteen parts of a server reference are read', () => {
    expect(parseReferences(Array.from({ length: 100 }, (_, i) => `b${i}`).join(' '))).toHaveLength(16)
  })

  it('arbitrary text yields only hosts that form valid addresses', () => {
    const piece = oneof(
      string({ unit: anyCodePoint }),
      constantFrom(' ', ':', '[', ']', '@', '//', '?', '%00'),
      stringMatching(/^[a-z0-9.:[\]-]{0,20}$/),
    )
    assert(
      property(tuple(piece, piece, piece), pieces => {
        for (const { host, port } of parseReferences(pieces.join(''))) {
          const { hostname, username, pathname } = new URL(`mqtt://${host}:${port ?? 1}/`)
          expect([hostname.startsWith('[') || hostname === host, username, pathname]).toEqual([true, '', '/'])
        }
      }),
    )
  })

  it('a host with a port is parsed exactly', () => {
    // `xn--` begins a Punycode name, which arbitrary text is not.
    const host = stringMatching(/^[a-z][a-z0-9-]{0,20}(\.[a-z][a-z0-9]{0,5}){0,3}$/).filter(
      name => !name.startsWith('xn--'),
    )
    assert(
      property(host, integer({ min: 1, max: 65_535 }), (name, port) => {
        expect(parseReferences(`${name}:${port}`)).toEqual([{ host: name, port }])
      }),
    )
  })
})
