import { ABSENT, type ConformanceCase, DELETED, NOTHING, OK, REFUSED, value } from './case.js'

const WATCH = { send: 'KEYNOTIFY key', from: 'bob', reply: OK, version: 'none' } as const

/** Cases of the time to live, PX (section 2 of the protocol page). */
export const EXPIRY: readonly ConformanceCase[] = [
  {
    name: 'PX keeps a key for exactly the given number of milliseconds',
    steps: [
      { send: 'SET key value PX 1000', reply: OK, version: 'new', as: 'write' },
      { advance: 999 },
      { send: 'GET key', reply: value('value'), version: 'same as write' },
      { advance: 1 },
      { send: 'GET key', reply: ABSENT, version: 'none' },
    ],
  },
  {
    name: 'an expired key is absent for every command',
    steps: [
      { send: 'SET one value PX 10', reply: OK, version: 'new' },
      { send: 'SET two value PX 10', reply: OK, version: 'new' },
      { send: 'SET three value PX 10', reply: OK, version: 'new' },
      { send: 'SET four value PX 10', reply: OK, version: 'new' },
      { advance: 10 },
      { send: 'DEL one', reply: NOTHING, version: 'none' },
      { send: 'VDEL two value', reply: NOTHING, version: 'none' },
      { send: 'SET three other NX', reply: OK, version: 'new' },
      { send: 'SET four other NEX', reply: OK, version: 'new' },
    ],
  },
  {
    name: 'a watching client is notified of an expiry with a version, at the time of the expiry',
    steps: [
      WATCH,
      { send: 'SET key value PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'value'] }] } },
      { advance: 999 },
      { advance: 1, told: { bob: [{ delete: 'key' }] } },
      { advance: 100_000 },
    ],
  },
  {
    name: 'versions continue after the version of an expiry',
    steps: [
      WATCH,
      { send: 'SET key one PX 5', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'one'] }] } },
      { advance: 5, told: { bob: [{ delete: 'key' }] } },
      { send: 'SET key two', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'two'] }] } },
    ],
  },
  {
    name: 'SET with PX restarts the time to live',
    steps: [
      WATCH,
      { send: 'SET key one PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'one'] }] } },
      { advance: 600 },
      { send: 'SET key two PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'two'] }] } },
      { advance: 999 },
      { advance: 1, told: { bob: [{ delete: 'key' }] } },
    ],
  },
  {
    name: 'SET with PX can shorten the time to live',
    steps: [
      WATCH,
      { send: 'SET key one PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'one'] }] } },
      { send: 'SET key two PX 10', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'two'] }] } },
      { advance: 10, told: { bob: [{ delete: 'key' }] } },
    ],
  },
  {
    name: 'SET without PX removes the expiry',
    steps: [
      WATCH,
      { send: 'SET key one PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'one'] }] } },
      { send: 'SET key two', reply: OK, version: 'new', as: 'second', told: { bob: [{ set: ['key', 'two'] }] } },
      { advance: 1_000_000 },
      { send: 'GET key', reply: value('two'), version: 'same as second' },
    ],
  },
  {
    name: 'GET does not extend the time to live',
    steps: [
      { send: 'SET key value PX 1000', reply: OK, version: 'new', as: 'write' },
      { advance: 999 },
      { send: 'GET key', reply: value('value'), version: 'same as write' },
      { advance: 1 },
      { send: 'GET key', reply: ABSENT, version: 'none' },
    ],
  },
  {
    name: 'a key that was deleted and set again does not expire at the earlier time',
    steps: [
      WATCH,
      { send: 'SET key one PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'one'] }] } },
      { send: 'DEL key', reply: DELETED, version: 'new', told: { bob: [{ delete: 'key' }] } },
      { send: 'SET key two', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'two'] }] } },
      { advance: 10_000 },
    ],
  },
  {
    name: 'a deleted key does not expire',
    steps: [
      WATCH,
      { send: 'SET key one PX 1000', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'one'] }] } },
      { send: 'DEL key', reply: DELETED, version: 'new', told: { bob: [{ delete: 'key' }] } },
      { advance: 10_000 },
    ],
  },
  {
    name: 'keys expire in the order of their times, and each expires once',
    steps: [
      WATCH,
      { send: 'KEYNOTIFY late', from: 'bob', reply: OK, version: 'none' },
      { send: 'SET late 2 PX 200', reply: OK, version: 'new', told: { bob: [{ set: ['late', '2'] }] } },
      { send: 'SET key 1 PX 100', reply: OK, version: 'new', told: { bob: [{ set: ['key', '1'] }] } },
      { advance: 500, told: { bob: [{ delete: 'key' }, { delete: 'late' }] } },
      { advance: 500 },
    ],
  },
  {
    name: 'keys without PX remain when other keys expire',
    steps: [
      { send: 'SET key one PX 10', reply: OK, version: 'new' },
      { send: 'SET other two', reply: OK, version: 'new', as: 'other' },
      { advance: 10 },
      { send: 'GET other', reply: value('two'), version: 'same as other' },
    ],
  },
  {
    name: 'NX and PX can be combined in either order',
    steps: [
      { send: 'SET key one NX PX 100', reply: OK, version: 'new', as: 'one' },
      { send: 'SET key two PX 100 NX', reply: REFUSED, version: 'same as one' },
      { advance: 100 },
      { send: 'SET key two PX 100 NX', reply: OK, version: 'new' },
      { advance: 100 },
      { send: 'GET key', reply: ABSENT, version: 'none' },
    ],
  },
  {
    name: 'NEX with a comparand and PX can be combined in either order',
    steps: [
      { send: 'SET key one NEX zero PX 100', reply: OK, version: 'new' },
      { send: 'SET key two PX 200 NEX one', reply: OK, version: 'new', as: 'two' },
      { advance: 199 },
      { send: 'GET key', reply: value('two'), version: 'same as two' },
      { advance: 1 },
      { send: 'GET key', reply: ABSENT, version: 'none' },
    ],
  },
  {
    name: 'a time to live of months does not overflow',
    steps: [
      WATCH,
      { send: 'SET key v PX 4294967296', reply: OK, version: 'new', told: { bob: [{ set: ['key', 'v'] }] } },
      { advance: 4_294_967_295 },
      { advance: 1, told: { bob: [{ delete: 'key' }] } },
    ],
  },
  {
    name: 'a key with the largest time to live never expires',
    steps: [
      { send: 'SET key value PX 9007199254740991', reply: OK, version: 'new', as: 'write' },
      { advance: 31_536_000_000 },
      { send: 'GET key', reply: value('value'), version: 'same as write' },
    ],
  },
]
