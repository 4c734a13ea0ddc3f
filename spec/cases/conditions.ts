import { ABSENT, type ConformanceCases, DELETED, OK, REFUSED, SYNTAX, value } from './case.js'

/** Cases of SET with NX and NEX, in both forms (section 2 of the protocol page). */
export const CONDITIONS: ConformanceCases = {
  'NX writes a key that does not exist': [
    { send: 'SET key value NX', reply: OK, version: 'new', as: 'write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
  ],
  'NX is rejected with the stored version when the key exists, even with the same value': [
    { send: 'SET key value', reply: OK, version: 'new', as: 'write' },
    { send: 'SET key other NX', from: 'bob', reply: REFUSED, version: 'same as write' },
    { send: 'SET key value NX', reply: REFUSED, version: 'same as write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
  ],
  'NX writes again after the key was deleted': [
    { send: 'SET key one NX', reply: OK, version: 'new' },
    { send: 'DEL key', reply: DELETED, version: 'new' },
    { send: 'SET key two NX', reply: OK, version: 'new' },
  ],
  'NEX writes a key that does not exist': [
    { send: 'SET key value NEX', reply: OK, version: 'new', as: 'write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
  ],
  'NEX writes a key that already has the value being set': [
    { send: 'SET key value', reply: OK, version: 'new' },
    { send: 'SET key value NEX', reply: OK, version: 'new', as: 'again' },
    { send: 'GET key', reply: value('value'), version: 'same as again' },
  ],
  'NEX is rejected with the stored version when the key has another value': [
    { send: 'SET key value', reply: OK, version: 'new', as: 'write' },
    { send: 'SET key other NEX', from: 'bob', reply: REFUSED, version: 'same as write' },
    { send: ['SET', 'key', '', 'NEX'], reply: REFUSED, version: 'same as write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
  ],
  'NEX with a comparand writes a key that does not exist': [
    { send: 'SET key value NEX other', reply: OK, version: 'new', as: 'write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
  ],
  'NEX with a comparand writes a key whose value equals the comparand': [
    { send: 'SET key one', reply: OK, version: 'new' },
    { send: 'SET key two NEX one', reply: OK, version: 'new', as: 'second' },
    { send: 'GET key', reply: value('two'), version: 'same as second' },
  ],
  'NEX with a comparand is rejected when the key has another value, even the value being set': [
    { send: 'SET key one', reply: OK, version: 'new', as: 'write' },
    { send: 'SET key one NEX two', reply: REFUSED, version: 'same as write' },
    { send: 'SET key three NEX two', reply: REFUSED, version: 'same as write' },
    { send: 'GET key', reply: value('one'), version: 'same as write' },
  ],
  'NEX with an empty comparand overwrites only an empty value': [
    { send: ['SET', 'key', ''], reply: OK, version: 'new' },
    { send: ['SET', 'key', 'full', 'NEX', ''], reply: OK, version: 'new', as: 'full' },
    { send: ['SET', 'key', 'more', 'NEX', ''], reply: REFUSED, version: 'same as full' },
  ],
  'NEX compares binary values byte by byte': [
    { send: ['SET', 'key', '\xff\xfe'], reply: OK, version: 'new', as: 'write' },
    { send: ['SET', 'key', 'next', 'NEX', '\xff\xfd'], reply: REFUSED, version: 'same as write' },
    { send: ['SET', 'key', 'next', 'NEX', '\xff\xfe'], reply: OK, version: 'new' },
  ],
  'NEX followed by PX and a number has no comparand': [
    { send: 'SET key PX', reply: OK, version: 'new', as: 'write' },
    { send: 'SET key value NEX PX 100', reply: REFUSED, version: 'same as write' },
    { send: 'SET key PX NEX PX 100', reply: OK, version: 'new' },
    { advance: 100 },
    { send: 'GET key', reply: ABSENT, version: 'none' },
  ],
  'the comparand of NEX may read like an option if no other interpretation is valid': [
    { send: 'SET key PX', reply: OK, version: 'new' },
    { send: 'SET key NX NEX PX', reply: OK, version: 'new' },
    { send: 'SET key NEX NEX NX', reply: OK, version: 'new' },
    { send: 'SET key PX NEX NEX PX 100', reply: OK, version: 'new' },
    { send: 'SET key value PX 100 NEX PX', reply: OK, version: 'new' },
  ],
  'IFVER writes a key that has exactly the given version': [
    { send: 'SET key one', reply: OK, version: '1696374425000:1:StateStore', as: 'write' },
    { send: 'SET key two IFVER 1696374425000:1:StateStore', reply: OK, version: 'new', as: 'second' },
    { send: 'SET key one IFVER 1696374425000:1:StateStore', reply: REFUSED, version: 'same as second' },
    { send: 'GET key', reply: value('two'), version: 'same as second' },
  ],
  'IFVER is rejected when the key does not exist, even with the version that it had': [
    { send: 'SET key one IFVER 1:0:a', reply: REFUSED, version: 'none' },
    { send: 'SET key one', reply: OK, version: '1696374425000:1:StateStore' },
    { send: 'DEL key', reply: DELETED, version: 'new' },
    { send: 'SET key two IFVER 1696374425000:1:StateStore', reply: REFUSED, version: 'none' },
  ],
  'IFVER requires a version and cannot be combined with other conditions': [
    { send: 'SET key one IFVER', reply: SYNTAX, version: 'none' },
    { send: 'SET key one IFVER 12', reply: SYNTAX, version: 'none' },
    { send: 'SET key one IFVER 1:0:a NX', reply: SYNTAX, version: 'none' },
    { send: 'SET key one NX IFVER 1:0:a', reply: SYNTAX, version: 'none' },
    { send: 'SET key one PX 100 IFVER 1:0:a', reply: REFUSED, version: 'none' },
  ],
  'a rejected SET changes neither value, version nor time to live': [
    { send: 'SET key value PX 1000', reply: OK, version: 'new', as: 'write' },
    { advance: 900 },
    { send: 'SET key other NX PX 5000', reply: REFUSED, version: 'same as write' },
    { send: 'SET key other NEX PX 5000', reply: REFUSED, version: 'same as write' },
    { send: 'SET key other NX', reply: REFUSED, version: 'same as write' },
    { send: 'GET key', reply: value('value'), version: 'same as write' },
    { advance: 100 },
    { send: 'GET key', reply: ABSENT, version: 'none' },
  ],
}
