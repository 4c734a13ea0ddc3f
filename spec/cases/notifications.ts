import {
  ABSENT,
  CLOCK_SKEW,
  type ConformanceCase,
  DELETED,
  EVERY_BYTE,
  MISSING_TIMESTAMP,
  NOTHING,
  OK,
  QUOTA,
  REFUSED,
  TOKEN_REQUIRED,
  value,
} from './case.js'

const watches = (from: 'alice' | 'bob' | 'carol', key = 'k') =>
  ({ send: `KEYNOTIFY ${key}`, from, reply: OK, version: 'none' }) as const

const stops = (from: 'alice' | 'bob' | 'carol', reply: string, key = 'k') =>
  ({ send: `KEYNOTIFY ${key} STOP`, from, reply, version: 'none' }) as const

/** KEYNOTIFY and what it leads to (section 5 of the protocol page). */
export const NOTIFICATIONS: readonly ConformanceCase[] = [
  {
    name: 'whoever watches a key is told of a SET with its value and version',
    steps: [
      watches('bob'),
      { send: 'SET k v', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
      { send: 'SET k w', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'w'] }] } },
    ],
  },
  {
    name: 'whoever watches a key is told of a DEL',
    steps: [
      { send: 'SET k v', reply: OK, version: 'new' },
      watches('bob'),
      { send: 'DEL k', reply: DELETED, version: 'new', told: { bob: [{ delete: 'k' }] } },
    ],
  },
  {
    name: 'whoever watches a key is told of a VDEL',
    steps: [
      { send: 'SET k v', reply: OK, version: 'new' },
      watches('bob'),
      { send: 'VDEL k v', reply: DELETED, version: 'new', told: { bob: [{ delete: 'k' }] } },
    ],
  },
  {
    name: 'a write under a condition is told like any other',
    steps: [
      watches('bob'),
      { send: 'SET k v NX', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
      { send: 'SET k v NEX', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
      { send: 'SET k w NEX v', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'w'] }] } },
    ],
  },
  {
    name: 'a client is told of its own writes',
    steps: [
      watches('alice'),
      { send: 'SET k v', reply: OK, version: 'new', told: { alice: [{ set: ['k', 'v'] }] } },
      { send: 'DEL k', reply: DELETED, version: 'new', told: { alice: [{ delete: 'k' }] } },
    ],
  },
  {
    name: 'everyone who watches is told, and nobody else',
    steps: [
      watches('alice'),
      watches('bob'),
      watches('carol', 'other'),
      {
        send: 'SET k v',
        from: 'carol',
        reply: OK,
        version: 'new',
        told: { alice: [{ set: ['k', 'v'] }], bob: [{ set: ['k', 'v'] }] },
      },
      { send: 'SET other v', reply: OK, version: 'new', told: { carol: [{ set: ['other', 'v'] }] } },
    ],
  },
  {
    name: 'a key need not exist to be watched, and KEYNOTIFY does not tell its value',
    steps: [
      watches('bob'),
      { send: 'SET other v', reply: OK, version: 'new' },
      watches('bob', 'other'),
      { send: 'GET k', reply: ABSENT, version: 'none' },
    ],
  },
  {
    name: 'watching twice is watching once',
    steps: [
      watches('bob'),
      watches('bob'),
      { send: 'SET k v', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
      stops('bob', OK),
      { send: 'SET k w', reply: OK, version: 'new' },
      stops('bob', NOTHING),
    ],
  },
  {
    name: 'after STOP nothing is told, until the key is watched again',
    steps: [
      watches('bob'),
      stops('bob', OK),
      { send: 'SET k 1', reply: OK, version: 'new' },
      watches('bob'),
      { send: 'SET k 2', reply: OK, version: 'new', told: { bob: [{ set: ['k', '2'] }] } },
    ],
  },
  {
    name: 'STOP of what is not watched answers 0',
    steps: [stops('bob', NOTHING), watches('bob', 'other'), stops('bob', NOTHING), stops('bob', OK, 'other')],
  },
  {
    name: 'STOP stops the one who asks for it alone, and for that key alone',
    steps: [
      watches('alice'),
      watches('bob'),
      watches('bob', 'other'),
      stops('bob', OK),
      { send: 'SET k v', from: 'bob', reply: OK, version: 'new', told: { alice: [{ set: ['k', 'v'] }] } },
      { send: 'SET other v', reply: OK, version: 'new', told: { bob: [{ set: ['other', 'v'] }] } },
    ],
  },
  {
    name: 'a watch outlives the deletion of its key',
    steps: [
      watches('bob'),
      { send: 'SET k 1', reply: OK, version: 'new', told: { bob: [{ set: ['k', '1'] }] } },
      { send: 'DEL k', reply: DELETED, version: 'new', told: { bob: [{ delete: 'k' }] } },
      { send: 'SET k 2', reply: OK, version: 'new', told: { bob: [{ set: ['k', '2'] }] } },
    ],
  },
  {
    name: 'there are no wildcards: *, # and + are keys like any others',
    steps: [
      watches('bob', '*'),
      watches('bob', '#'),
      watches('bob', '+'),
      { send: 'SET k v', reply: OK, version: 'new' },
      { send: 'SET # v', reply: OK, version: 'new', told: { bob: [{ set: ['#', 'v'] }] } },
    ],
  },
  {
    name: 'an empty value is told as a value',
    steps: [watches('bob'), { send: ['SET', 'k', ''], reply: OK, version: 'new', told: { bob: [{ set: ['k', ''] }] } }],
  },
  {
    name: 'binary keys and values are told byte by byte',
    steps: [
      { send: ['KEYNOTIFY', EVERY_BYTE], from: 'bob', reply: OK, version: 'none' },
      {
        send: ['SET', EVERY_BYTE, EVERY_BYTE],
        reply: OK,
        version: 'new',
        told: { bob: [{ set: [EVERY_BYTE, EVERY_BYTE] }] },
      },
      { send: ['DEL', EVERY_BYTE], reply: DELETED, version: 'new', told: { bob: [{ delete: EVERY_BYTE }] } },
      { send: ['KEYNOTIFY', EVERY_BYTE, 'STOP'], from: 'bob', reply: OK, version: 'none' },
    ],
  },
  {
    name: 'what changes nothing is not told',
    bounds: { maxKeys: 1 },
    steps: [
      watches('bob'),
      { send: 'DEL k', reply: NOTHING, version: 'none' },
      { send: 'VDEL k v', reply: NOTHING, version: 'none' },
      { send: 'SET k v', ts: null, reply: MISSING_TIMESTAMP, version: 'none' },
      { send: 'SET k v', ts: 61_000, reply: CLOCK_SKEW, version: 'none' },
      { send: 'SET k v', ft: 1, reply: OK, version: 'new', as: 'write', told: { bob: [{ set: ['k', 'v'] }] } },
      { send: 'GET k', reply: value('v'), version: 'same as write' },
      { send: 'SET k w', reply: TOKEN_REQUIRED, version: 'none' },
      { send: 'DEL k', reply: TOKEN_REQUIRED, version: 'none' },
      { send: 'SET k w NX', ft: 1, reply: REFUSED, version: 'same as write' },
      { send: 'SET k w NEX', ft: 1, reply: REFUSED, version: 'same as write' },
      { send: 'VDEL k w', ft: 1, reply: REFUSED, version: 'same as write' },
    ],
  },
  {
    name: 'a SET over the quota is not told',
    bounds: { maxKeys: 1 },
    steps: [
      watches('bob'),
      { send: 'SET other v', reply: OK, version: 'new' },
      { send: 'SET k v', reply: QUOTA, version: 'none' },
    ],
  },
]
