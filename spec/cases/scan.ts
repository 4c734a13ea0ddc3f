import { type ConformanceCases, DELETED, EVERY_BYTE, lastPage, MALFORMED_TIMESTAMP, OK, SYNTAX } from './case.js'

const set = (key: string, ...options: readonly string[]) =>
  ({ send: ['SET', key, 'v', ...options], reply: OK, version: 'new' }) as const
const del = (key: string) => ({ send: ['DEL', key], reply: DELETED, version: 'new' }) as const

/** Returns a key so long that ten such keys exceed a page. */
const long = (name: string): string => name.repeat(20_000)
const LONG_KEYS = Array.from('abcdefghij', long)

const BORN = '1696374425000'
const NO_TOKENS = [
  '',
  'token',
  '0',
  '0:0:0',
  BORN,
  `${BORN}:2:1`,
  `${BORN}:0:9`,
  `${BORN}:-1:1`,
  `${BORN}:0:1 `,
  EVERY_BYTE,
]

/** A store's keys, and the keys that match a glob. */
const KEYS = [
  'a',
  'b',
  'A',
  'ab',
  'abc',
  'a*c',
  'a\\c',
  'a\nc',
  '-',
  '*',
  '\\',
  ']',
  '^',
  '!',
  '[a]',
  '\xff\x00',
  EVERY_BYTE,
]
const GLOBS: readonly (readonly [glob: string, finds: readonly string[]])[] = [
  ['*', KEYS],
  ['**', KEYS],
  ['?', ['b', '-', '*', '\\', ']', '^', '!', 'a', 'A']],
  ['a', ['a']],
  ['a*', ['a', 'ab', 'abc', 'a*c', 'a\\c', 'a\nc']],
  ['*c', ['abc', 'a*c', 'a\\c', 'a\nc']],
  ['a?c', ['abc', 'a*c', 'a\\c', 'a\nc']],
  ['a\\*c', ['a*c']],
  ['a\\\\c', ['a\\c']],
  ['[ab]', ['a', 'b']],
  ['[a-c]', ['a', 'b']],
  ['[c-a]', ['a', 'b']],
  ['[^a-z]', ['-', '*', '\\', ']', '^', '!', 'A']],
  ['[!a-z]', ['-', '*', '\\', ']', '^', '!', 'A']],
  ['[a\\]]', ['a', ']']],
  ['[\\^a]', ['^', 'a']],
  ['[a-]', ['a', '-']],
  ['[*]', ['*']],
  ['[ab', ['a', 'b']],
  ['[]', []],
  ['[^]', ['b', '-', '*', '\\', ']', '^', '!', 'a', 'A']],
  ['\\[a]', ['[a]']],
  ['\\', ['\\']],
  ['\\a', ['a']],
  ['\xff?', ['\xff\x00']],
  ['[\x80-\xff]*', ['\xff\x00']],
  ['*\xff', [EVERY_BYTE]],
  ['', []],
]

/**
 * Cases of SCAN (section 6 of the protocol page). Globs have the syntax of Redis, and classes also accept `!` in place
 * of `^`.
 */
export const SCAN: ConformanceCases = {
  'SCAN finds no keys in an empty store, and all keys in a filled store': [
    { send: 'SCAN *', reply: lastPage(), version: 'none' },
    set('k'),
    { send: 'SCAN *', reply: lastPage('k'), version: 'none' },
    { send: 'SCAN *', reply: lastPage('k'), version: 'none', from: 'bob', ts: null },
    { send: 'SCAN x*', reply: lastPage(), version: 'none' },
    del('k'),
    { send: 'SCAN *', reply: lastPage(), version: 'none' },
  ],
  'SCAN matches globs byte by byte': [...KEYS.map(key => set(key)), ...GLOBS.map(([scan, finds]) => ({ scan, finds }))],
  'SCAN finds a key once, even if the key was written several times': [
    set('a'),
    set('b'),
    set('a'),
    { scan: '*', finds: ['a', 'b'] },
    del('a'),
    set('a'),
    { scan: '*', finds: ['a', 'b'] },
  ],
  'SCAN finds no expired key': [
    set('a', 'PX', '10'),
    set('b', 'PX', '11'),
    { advance: 10 },
    { scan: '*', finds: ['b'] },
  ],
  'SCAN requires no fencing token': [
    { ...set('a'), ft: 0 },
    { scan: '*', finds: ['a'] },
  ],
  'SCAN finds more keys than fit on one page': [
    ...LONG_KEYS.map(key => set(key)),
    { scan: '*', finds: LONG_KEYS },
    { scan: 'c*', finds: [long('c')] },
  ],
  'SCAN finds every key that exists during the whole scan, regardless of other changes': [
    ...LONG_KEYS.map(key => set(key)),
    {
      scan: '*',
      finds: LONG_KEYS.slice(2, 9),
      mayFind: [long('a'), long('b'), long('j'), 'new'],
      meanwhile: [del(long('a')), del(long('j')), set('new'), set(long('c')), del(long('b')), set(long('b'))],
    },
  ],
  'SCAN continues when the last found key was deleted': [
    ...LONG_KEYS.map(key => set(key)),
    {
      scan: '*',
      finds: [long('i'), long('j')],
      mayFind: LONG_KEYS.slice(0, 8),
      meanwhile: LONG_KEYS.slice(0, 8).map(del),
    },
  ],
  'SCAN continues when the next key has expired': [
    ...LONG_KEYS.map(key => set(key, 'PX', key.startsWith('j') ? '20' : '10')),
    { scan: '*', finds: [long('j')], mayFind: LONG_KEYS.slice(0, 9), meanwhile: [{ advance: 10 }] },
  ],
  'SCAN rejects an invalid token, and continues with a valid token': [
    set('k'),
    ...NO_TOKENS.map(token => ({ send: ['SCAN', '*', token], reply: SYNTAX, version: 'none' }) as const),
    { send: 'SCAN *', reply: lastPage('k'), version: 'none' },
  ],
  'SCAN rejects a glob that is too long, and validates clocks as GET does': [
    { send: ['SCAN', '*'.repeat(1_024)], reply: lastPage(), version: 'none' },
    { send: ['SCAN', '*'.repeat(1_025)], reply: SYNTAX, version: 'none' },
    { send: 'SCAN *', ts: 'now', reply: MALFORMED_TIMESTAMP, version: 'none' },
  ],
}
