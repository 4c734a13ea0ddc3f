import {
  ABSENT,
  CLOCK_SKEW,
  type ConformanceCases,
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

/** Cases of KEYNOTIFY and its notifications (section 5 of the protocol page). */
export const NOTIFICATIONS: ConformanceCases = {
  'a watching client is notified of a SET with its value and version': [
    watches('bob'),
    { send: 'SET k v', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
    { send: 'SET k w', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'w'] }] } },
  ],
  'a watching client is notified of a DEL': [
    { send: 'SET k v', reply: OK, version: 'new' },
    watches('bob'),
    { send: 'DEL k', reply: DELETED, version: 'new', told: { bob: [{ delete: 'k' }] } },
  ],
  'a watching client is notified of a VDEL': [
    { send: 'SET k v', reply: OK, version: 'new' },
    watches('bob'),
    { send: 'VDEL k v', reply: DELETED, version: 'new', told: { bob: [{ delete: 'k' }] } },
  ],
  'a watching client is notified of a conditional write as of any other write': [
    watches('bob'),
    { send: 'SET k v NX', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
    { send: 'SET k v NEX', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
    { send: 'SET k w NEX v', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'w'] }] } },
  ],
  'a client receives notifications of its own writes': [
    watches('alice'),
    { send: 'SET k v', reply: OK, version: 'new', told: { alice: [{ set: ['k', 'v'] }] } },
    { send: 'DEL k', reply: DELETED, version: 'new', told: { alice: [{ delete: 'k' }] } },
  ],
  'all watching clients are notified, and no other client': [
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
  'an absent key can be watched, and KEYNOTIFY does not return its value': [
    watches('bob'),
    { send: 'SET other v', reply: OK, version: 'new' },
    watches('bob', 'other'),
    { send: 'GET k', reply: ABSENT, version: 'none' },
  ],
  'watching a key twice is the same as watching it once': [
    watches('bob'),
    watches('bob'),
    { send: 'SET k v', reply: OK, version: 'new', told: { bob: [{ set: ['k', 'v'] }] } },
    stops('bob', OK),
    { send: 'SET k w', reply: OK, version: 'new' },
    stops('bob', NOTHING),
  ],
  'after STOP no change is notified until the key is watched again': [
    watches('bob'),
    stops('bob', OK),
    { send: 'SET k 1', reply: OK, version: 'new' },
    watches('bob'),
    { send: 'SET k 2', reply: OK, version: 'new', told: { bob: [{ set: ['k', '2'] }] } },
  ],
  'STOP of a key that is not watched returns 0': [
    stops('bob', NOTHING),
    watches('bob', 'other'),
    stops('bob', NOTHING),
    stops('bob', OK, 'other'),
  ],
  'STOP affects only the requesting client and only that key': [
    watches('alice'),
    watches('bob'),
    watches('bob', 'other'),
    stops('bob', OK),
    { send: 'SET k v', from: 'bob', reply: OK, version: 'new', told: { alice: [{ set: ['k', 'v'] }] } },
    { send: 'SET other v', reply: OK, version: 'new', told: { bob: [{ set: ['other', 'v'] }] } },
  ],
  'a watch outlives the deletion of its key': [
    watches('bob'),
    { send: 'SET k 1', reply: OK, version: 'new', told: { bob: [{ set: ['k', '1'] }] } },
    { send: 'DEL k', reply: DELETED, version: 'new', told: { bob: [{ delete: 'k' }] } },
    { send: 'SET k 2', reply: OK, version: 'new', told: { bob: [{ set: ['k', '2'] }] } },
  ],
  'KEYNOTIFY has no wildcards: *, # and + are ordinary keys': [
    watches('bob', '*'),
    watches('bob', '#'),
    watches('bob', '+'),
    { send: 'SET k v', reply: OK, version: 'new' },
    { send: 'SET # v', reply: OK, version: 'new', told: { bob: [{ set: ['#', 'v'] }] } },
  ],
  'an empty value is notified as a value': [
    watches('bob'),
    { send: ['SET', 'k', ''], reply: OK, version: 'new', told: { bob: [{ set: ['k', ''] }] } },
  ],
  'binary keys and values are notified byte for byte': [
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
  'a watching client is not notified of a request that changes nothing': {
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
  'a watching client is not notified of a SET beyond the quota': {
    bounds: { maxKeys: 1 },
    steps: [
      watches('bob'),
      { send: 'SET other v', reply: OK, version: 'new' },
      { send: 'SET k v', reply: QUOTA, version: 'none' },
    ],
  },
}
