import { ABSENT, type ConformanceCases, DELETED, EVERY_BYTE, NOTHING, OK, REFUSED, value } from './case.js'

const LARGE = 'x'.repeat(100_000)

/** Cases of SET, GET, DEL and VDEL with absent, empty and binary values (sections 2 and 3 of the protocol page). */
export const VALUES: ConformanceCases = {
  'SET replies +OK with a version, and GET returns the value with the same version': [
    { send: 'SET key value', reply: OK, version: 'new', as: 'write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
    { send: 'GET key', from: 'bob', reply: value('value'), version: 'same as write' },
  ],
  'GET of an absent key replies nil without a version': [{ send: 'GET key', reply: ABSENT, version: 'none' }],
  'SET replaces the value and assigns a new version': [
    { send: 'SET key one', reply: OK, version: 'new' },
    { send: 'SET key two', from: 'bob', reply: OK, version: 'new', as: 'second' },
    { send: 'GET key', reply: value('two'), version: 'same as second' },
  ],
  'SET of the same value is a write like any other': [
    { send: 'SET key value', reply: OK, version: 'new' },
    { send: 'SET key value', reply: OK, version: 'new', as: 'second' },
    { send: 'GET key', reply: value('value'), version: 'same as second' },
  ],
  'an empty value is distinct from an absent key': [
    { send: ['SET', 'key', ''], reply: OK, version: 'new', as: 'write' },
    { send: 'GET key', reply: '$0\r\n\r\n', version: 'same as write' },
    { send: 'SET key full NX', reply: REFUSED, version: 'same as write' },
    { send: 'VDEL key full', reply: REFUSED, version: 'same as write' },
    { send: ['VDEL', 'key', ''], reply: DELETED, version: 'new' },
    { send: 'GET key', reply: ABSENT, version: 'none' },
  ],
  'a value may contain any bytes, including CRLF and zero': [
    { send: ['SET', 'key', EVERY_BYTE], reply: OK, version: 'new', as: 'write' },
    { send: 'GET key', reply: `$256\r\n${EVERY_BYTE}\r\n`, version: 'same as write' },
  ],
  'a key may contain any bytes, including CRLF and zero': [
    { send: ['SET', EVERY_BYTE, 'value'], reply: OK, version: 'new', as: 'write' },
    { send: ['GET', EVERY_BYTE], reply: value('value'), version: 'same as write' },
    { send: ['DEL', EVERY_BYTE], reply: DELETED, version: 'new' },
  ],
  'keys are compared byte by byte, not as text': [
    { send: ['SET', '\xff', 'one'], reply: OK, version: 'new', as: 'one' },
    { send: ['SET', '\xfe', 'two'], reply: OK, version: 'new', as: 'two' },
    { send: ['GET', '\xff'], reply: value('one'), version: 'same as one' },
    { send: ['GET', '\xfe'], reply: value('two'), version: 'same as two' },
    { send: ['GET', '\xef\xbf\xbd'], reply: ABSENT, version: 'none' },
  ],
  'keys that differ in case or blanks are different keys': [
    { send: ['SET', 'key', 'one'], reply: OK, version: 'new' },
    { send: ['GET', 'KEY'], reply: ABSENT, version: 'none' },
    { send: ['GET', 'key '], reply: ABSENT, version: 'none' },
  ],
  'a key may be named like a property of JavaScript objects': [
    { send: 'GET __proto__', reply: ABSENT, version: 'none' },
    { send: 'SET __proto__ value', reply: OK, version: 'new', as: 'write' },
    { send: 'GET __proto__', reply: value('value'), version: 'same as write' },
    { send: 'GET constructor', reply: ABSENT, version: 'none' },
  ],
  'a key may be as long as a value, and a value longer than any topic': [
    { send: ['SET', LARGE, LARGE], reply: OK, version: 'new', as: 'write' },
    { send: ['GET', LARGE], reply: value(LARGE), version: 'same as write' },
  ],
  'a value may read like an option, a verb or a reply': [
    { send: 'SET NX NX', reply: OK, version: 'new', as: 'NX' },
    { send: 'SET SET $-1', reply: OK, version: 'new', as: 'SET' },
    { send: 'GET NX', reply: value('NX'), version: 'same as NX' },
    { send: 'GET SET', reply: value('$-1'), version: 'same as SET' },
  ],
  'DEL deletes a key and replies with a new version': [
    { send: 'SET key value', reply: OK, version: 'new' },
    { send: 'DEL key', reply: DELETED, version: 'new' },
    { send: 'GET key', reply: ABSENT, version: 'none' },
  ],
  'DEL of an absent key replies 0 without a version': [
    { send: 'DEL key', reply: NOTHING, version: 'none' },
    { send: 'SET key value', reply: OK, version: 'new' },
    { send: 'DEL key', reply: DELETED, version: 'new' },
    { send: 'DEL key', reply: NOTHING, version: 'none' },
  ],
  'DEL deletes only the given key': [
    { send: 'SET one 1', reply: OK, version: 'new', as: 'one' },
    { send: 'SET two 2', reply: OK, version: 'new' },
    { send: 'DEL two', reply: DELETED, version: 'new' },
    { send: 'GET one', reply: value('1'), version: 'same as one' },
  ],
  'VDEL deletes a key that has the given value': [
    { send: 'SET key value', reply: OK, version: 'new' },
    { send: 'VDEL key value', from: 'bob', reply: DELETED, version: 'new' },
    { send: 'GET key', reply: ABSENT, version: 'none' },
  ],
  'VDEL is rejected for a different value, including a prefix or an extension of it': [
    { send: 'SET key value', reply: OK, version: 'new', as: 'write' },
    { send: 'VDEL key other', reply: REFUSED, version: 'same as write' },
    { send: 'VDEL key valu', reply: REFUSED, version: 'same as write' },
    { send: 'VDEL key value2', reply: REFUSED, version: 'same as write' },
    { send: ['VDEL', 'key', ''], reply: REFUSED, version: 'same as write' },
    { send: 'VDEL key VALUE', reply: REFUSED, version: 'same as write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
  ],
  'VDEL of an absent key replies 0': [{ send: 'VDEL key value', reply: NOTHING, version: 'none' }],
  'VDEL compares binary values byte by byte': [
    { send: ['SET', 'key', '\xff\x00\xfe'], reply: OK, version: 'new', as: 'write' },
    { send: ['VDEL', 'key', '\xff\x00\xff'], reply: REFUSED, version: 'same as write' },
    { send: ['VDEL', 'key', '\xff\x00\xfe'], reply: DELETED, version: 'new' },
  ],
}
