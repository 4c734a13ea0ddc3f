import {
  ABSENT,
  type ConformanceCases,
  DELETED,
  MALFORMED_TIMESTAMP,
  NOTHING,
  OK,
  REFUSED,
  TOKEN_REQUIRED,
  TOKEN_SKEW,
  TOKEN_STALE,
  value,
} from './case.js'

/** A step that creates a key `k` protected by the token of 5 s after the start. */
const PROTECTED = { send: 'SET k v', ft: 5_000, reply: OK, version: 'new', as: 'write' } as const
const UNTOUCHED = { send: 'GET k', reply: value('v'), version: 'same as write' } as const

const WRITES = [
  { verb: 'SET', send: 'SET k w', reply: OK },
  { verb: 'DEL', send: 'DEL k', reply: DELETED },
  { verb: 'VDEL', send: 'VDEL k v', reply: DELETED },
] as const

const casesOf = ({ verb, send, reply }: (typeof WRITES)[number]): ConformanceCases => ({
  [`${verb} of a protected key without a token is rejected`]: [
    PROTECTED,
    { send, reply: TOKEN_REQUIRED, version: 'none' },
    UNTOUCHED,
  ],
  [`${verb} of a protected key with an older token is rejected`]: [
    PROTECTED,
    { send, ft: 4_999, reply: TOKEN_STALE, version: 'none' },
    UNTOUCHED,
  ],
  [`${verb} of a protected key with an equal token is accepted`]: [
    PROTECTED,
    { send, ft: 5_000, reply, version: 'new' },
  ],
  [`${verb} of a protected key with a newer token is accepted`]: [
    PROTECTED,
    { send, ft: 5_001, reply, version: 'new' },
  ],
  [`${verb} of an unprotected key requires no token`]: [
    { send: 'SET k v', reply: OK, version: 'new' },
    { send, reply, version: 'new' },
  ],
  [`${verb} of an unprotected key may have a token`]: [
    { send: 'SET k v', reply: OK, version: 'new' },
    { send, ft: 1, reply, version: 'new' },
  ],
  [`${verb} compares tokens by wall clock, then counter, then node id`]: [
    { send: 'SET k v', ft: '1696374425000:10:m', reply: OK, version: 'new', as: 'write' },
    { send, ft: '1696374424999:99:z', reply: TOKEN_STALE, version: 'none' },
    { send, ft: '1696374425000:9:z', reply: TOKEN_STALE, version: 'none' },
    { send, ft: '1696374425000:10:l', reply: TOKEN_STALE, version: 'none' },
    { send, ft: '1696374425000:10:M', reply: TOKEN_STALE, version: 'none' },
    UNTOUCHED,
    { send, ft: '01696374425000:00010:n', reply, version: 'new' },
  ],
  [`${verb} with a token more than 60 s ahead is rejected, even for an unprotected key`]: [
    { send: 'SET k v', reply: OK, version: 'new', as: 'write' },
    { send, ft: 60_001, reply: TOKEN_SKEW, version: 'none' },
    UNTOUCHED,
    { send, ft: 60_000, reply, version: 'new' },
  ],
  [`${verb} with a malformed token is rejected, even for an unprotected key`]: [
    { send: 'SET k v', reply: OK, version: 'new', as: 'write' },
    { send, ft: 'token', reply: MALFORMED_TIMESTAMP, version: 'none' },
    { send, ft: '', reply: MALFORMED_TIMESTAMP, version: 'none' },
    { send, ft: '1696374425000:0', reply: MALFORMED_TIMESTAMP, version: 'none' },
    UNTOUCHED,
  ],
})

/** Cases of fencing tokens (section 4 of the protocol page). */
export const FENCING: ConformanceCases = {
  ...Object.fromEntries(WRITES.flatMap(write => Object.entries(casesOf(write)))),
  'a SET with a newer token replaces the stored token': [
    PROTECTED,
    { send: 'SET k w', ft: 6_000, reply: OK, version: 'new' },
    { send: 'SET k x', ft: 5_999, reply: TOKEN_STALE, version: 'none' },
    { send: 'SET k x', ft: 6_000, reply: OK, version: 'new' },
  ],
  'a SET with a token protects a key that had no token': [
    { send: 'SET k v', reply: OK, version: 'new' },
    { send: 'SET k w', ft: 5_000, reply: OK, version: 'new' },
    { send: 'SET k x', reply: TOKEN_REQUIRED, version: 'none' },
  ],
  'a DEL or VDEL of an absent key with a token protects nothing': [
    { send: 'DEL k', ft: 5_000, reply: NOTHING, version: 'none' },
    { send: 'VDEL k v', ft: 5_000, reply: NOTHING, version: 'none' },
    { send: 'SET k v', reply: OK, version: 'new' },
    { send: 'SET k w', reply: OK, version: 'new' },
  ],
  'DEL deletes the token with the key': [
    PROTECTED,
    { send: 'DEL k', ft: 5_000, reply: DELETED, version: 'new' },
    { send: 'SET k w', reply: OK, version: 'new' },
    { send: 'SET k x', ft: 1, reply: OK, version: 'new' },
  ],
  'VDEL deletes the token with the key': [
    PROTECTED,
    { send: 'VDEL k v', ft: 6_000, reply: DELETED, version: 'new' },
    { send: 'SET k w', reply: OK, version: 'new' },
  ],
  'expiry requires no token and deletes the token with the key': [
    { send: 'SET k v PX 100', ft: 5_000, reply: OK, version: 'new' },
    { advance: 100 },
    { send: 'GET k', reply: ABSENT, version: 'none' },
    { send: 'SET k w', reply: OK, version: 'new' },
  ],
  'the token is checked before the condition': [
    PROTECTED,
    { send: 'SET k w NX', reply: TOKEN_REQUIRED, version: 'none' },
    { send: 'SET k w NEX', ft: 1, reply: TOKEN_STALE, version: 'none' },
    { send: 'VDEL k w', reply: TOKEN_REQUIRED, version: 'none' },
    { send: 'SET k w NX', ft: 5_000, reply: REFUSED, version: 'same as write' },
    { send: 'VDEL k w', ft: 5_000, reply: REFUSED, version: 'same as write' },
  ],
  'a write that is rejected because of its condition does not replace the token': [
    PROTECTED,
    { send: 'SET k w NX', ft: 6_000, reply: REFUSED, version: 'same as write' },
    { send: 'VDEL k w', ft: 6_000, reply: REFUSED, version: 'same as write' },
    { send: 'SET k w', ft: 5_000, reply: OK, version: 'new' },
  ],
  'a write that is rejected because of its token changes neither value, token nor time to live': [
    { send: 'SET k v PX 1000', ft: 5_000, reply: OK, version: 'new', as: 'write' },
    { send: 'SET k w', reply: TOKEN_REQUIRED, version: 'none' },
    { send: 'SET k w PX 9000', ft: 1, reply: TOKEN_STALE, version: 'none' },
    { advance: 999 },
    UNTOUCHED,
    { advance: 1 },
    { send: 'GET k', reply: ABSENT, version: 'none' },
  ],
  'GET and KEYNOTIFY of a protected key require no token': [
    PROTECTED,
    UNTOUCHED,
    { send: 'KEYNOTIFY k', reply: OK, version: 'none' },
  ],
  'tokens of different keys are independent of each other': [
    PROTECTED,
    { send: 'SET other v', reply: OK, version: 'new' },
    { send: 'SET other w', ft: 1, reply: OK, version: 'new' },
  ],
  'a client that lost its lock can no longer write with the token of the lock': [
    { send: 'SET lock alice NEX PX 10000', reply: OK, version: 'new', as: 'lock A' },
    { send: 'SET lock bob NEX PX 10000', from: 'bob', reply: REFUSED, version: 'same as lock A' },
    { send: 'SET k A', ft: 'version of lock A', reply: OK, version: 'new' },
    { advance: 6_000 },
    { send: 'SET lock alice NEX PX 10000', reply: OK, version: 'new', as: 'renewal' },
    { advance: 6_000 },
    { send: 'SET k A', ft: 'version of renewal', reply: OK, version: 'new' },
    { advance: 4_000 },
    { send: 'SET lock bob NEX PX 10000', from: 'bob', reply: OK, version: 'new', as: 'lock B' },
    { send: 'SET k B', from: 'bob', ft: 'version of lock B', reply: OK, version: 'new', as: 'B' },
    { send: 'SET k A', ft: 'version of renewal', reply: TOKEN_STALE, version: 'none' },
    { send: 'VDEL lock alice', reply: REFUSED, version: 'same as lock B' },
    { send: 'VDEL lock bob', from: 'bob', reply: DELETED, version: 'new' },
    { send: 'GET k', reply: value('B'), version: 'same as B' },
  ],
}
