import {
  ABSENT,
  CLOCK_SKEW,
  type ConformanceCase,
  DELETED,
  MALFORMED_TIMESTAMP,
  MISSING_TIMESTAMP,
  OK,
  REFUSED,
  TOKEN_REQUIRED,
  TOKEN_SKEW,
  value,
} from './case.js'

const MALFORMED = [
  '',
  'now',
  '1696374425000',
  '1696374425000:0',
  '1696374425000:0:CLIENT:1',
  ':0:CLIENT',
  '1696374425000::CLIENT',
  '-1:0:CLIENT',
  '1696374425000:-1:CLIENT',
  '1696374425000.5:0:CLIENT',
  '0x18AF7B7A9A8:0:CLIENT',
  '1.7e12:0:CLIENT',
  ' 1696374425000:0:CLIENT',
  'NaN:0:CLIENT',
  '99999999999999999999:0:CLIENT',
  '1696374425000:99999999999999999999:CLIENT',
]

/** Cases of versions, which are hybrid logical clocks (section 3 of the protocol page). */
export const VERSIONS: readonly ConformanceCase[] = [
  {
    name: "a request with the wall clock of the store gets a version with counter 1, as in the protocol's example",
    steps: [
      { send: 'SET k v', ts: '1696374425000:0:CLIENT', reply: OK, version: '1696374425000:1:StateStore', as: 'write' },
      { send: 'GET k', ts: null, reply: value('v'), version: 'same as write' },
    ],
  },
  {
    name: 'zero-padded clocks are parsed as numbers',
    steps: [
      { send: 'SET k v', ts: '001696374425000:00007:CLIENT', reply: OK, version: '1696374425000:8:StateStore' },
      { send: 'DEL k', ts: '001696374425000:00009:CLIENT', reply: DELETED, version: '1696374425000:10:StateStore' },
    ],
  },
  {
    name: "a client clock behind the store's is accepted, and the version has the store's time",
    steps: [
      { send: 'SET k 1', ts: -1, reply: OK, version: '1696374425000:0:StateStore' },
      { send: 'SET k 2', ts: -86_400_000, reply: OK, version: '1696374425000:1:StateStore' },
      { send: 'SET k 3', ts: '0:0:CLIENT', reply: OK, version: '1696374425000:2:StateStore' },
    ],
  },
  {
    name: 'a counter with an earlier time does not affect the version',
    steps: [{ send: 'SET k v', ts: '1696374424999:999:CLIENT', reply: OK, version: '1696374425000:0:StateStore' }],
  },
  {
    name: "a client clock ahead of the store's determines the version",
    steps: [
      { send: 'SET k 1', ts: '1696374435000:5:CLIENT', reply: OK, version: '1696374435000:6:StateStore' },
      { send: 'SET k 2', ts: 0, reply: OK, version: '1696374435000:7:StateStore' },
      { send: 'SET k 3', ts: '1696374435000:6:CLIENT', reply: OK, version: '1696374435000:8:StateStore' },
      { send: 'SET k 4', ts: '1696374435000:20:CLIENT', reply: OK, version: '1696374435000:21:StateStore' },
      { send: 'SET k 5', ts: '1696374435001:0:CLIENT', reply: OK, version: '1696374435001:1:StateStore' },
    ],
  },
  {
    name: 'the counter restarts when the wall clock advances',
    steps: [
      { send: 'SET k 1', reply: OK, version: '1696374425000:1:StateStore' },
      { send: 'SET k 2', reply: OK, version: '1696374425000:2:StateStore' },
      { advance: 1 },
      { send: 'SET k 3', ts: -1, reply: OK, version: '1696374425001:0:StateStore' },
      { send: 'SET k 4', reply: OK, version: '1696374425001:1:StateStore' },
    ],
  },
  {
    name: 'a client clock 59 s ahead is accepted, and later writes of other clients get newer versions',
    steps: [
      { send: 'SET k 1', ts: 59_000, reply: OK, version: '1696374484000:1:StateStore' },
      { send: 'SET k 2', from: 'bob', reply: OK, version: '1696374484000:2:StateStore', as: 'second' },
      { send: 'GET k', reply: value('2'), version: 'same as second' },
      { advance: 59_001 },
      { send: 'SET k 3', from: 'bob', reply: OK, version: '1696374484001:1:StateStore' },
    ],
  },
  {
    name: 'a client clock exactly 60 s ahead is accepted',
    steps: [{ send: 'SET k v', ts: 60_000, reply: OK, version: '1696374485000:1:StateStore' }],
  },
  {
    name: 'a client clock 61 s ahead is rejected, and nothing changes',
    steps: [
      { send: 'SET k 1', reply: OK, version: 'new', as: 'write' },
      { send: 'SET k 2', ts: 61_000, reply: CLOCK_SKEW, version: 'none' },
      { send: 'SET k 2', ts: 60_001, reply: CLOCK_SKEW, version: 'none' },
      { send: 'DEL k', ts: 61_000, reply: CLOCK_SKEW, version: 'none' },
      { send: 'VDEL k 1', ts: 61_000, reply: CLOCK_SKEW, version: 'none' },
      { send: 'GET k', ts: 0, reply: value('1'), version: 'same as write' },
      { send: 'SET k 3', reply: OK, version: '1696374425000:2:StateStore' },
    ],
  },
  {
    name: 'the versions of all keys come from one clock',
    steps: [
      { send: 'SET one v', reply: OK, version: '1696374425000:1:StateStore' },
      { send: 'SET two v', reply: OK, version: '1696374425000:2:StateStore' },
      { send: 'DEL one', reply: DELETED, version: '1696374425000:3:StateStore' },
      { send: 'SET two v', reply: OK, version: '1696374425000:4:StateStore' },
    ],
  },
  {
    name: 'DEL and VDEL of an existing key reply with a version greater than their timestamp',
    steps: [
      { send: 'SET one v', reply: OK, version: 'new' },
      { send: 'SET two v', reply: OK, version: 'new' },
      { send: 'DEL one', ts: 30_000, reply: DELETED, version: '1696374455000:1:StateStore' },
      { send: 'VDEL two v', ts: 40_000, reply: DELETED, version: '1696374465000:1:StateStore' },
    ],
  },
  {
    name: 'GET, DEL, VDEL and KEYNOTIFY require no timestamp',
    steps: [
      { send: 'SET one v', reply: OK, version: 'new', as: 'one' },
      { send: 'SET two v', reply: OK, version: 'new' },
      { send: 'GET one', ts: null, reply: value('v'), version: 'same as one' },
      { send: 'KEYNOTIFY three', ts: null, reply: OK, version: 'none' },
      { send: 'DEL one', ts: null, reply: DELETED, version: 'new' },
      { send: 'VDEL two v', ts: null, reply: DELETED, version: 'new' },
    ],
  },
  {
    name: 'SET requires a timestamp',
    steps: [
      { send: 'SET k v', ts: null, reply: MISSING_TIMESTAMP, version: 'none' },
      { send: 'SET k v NX', ts: null, reply: MISSING_TIMESTAMP, version: 'none' },
      { send: 'GET k', reply: ABSENT, version: 'none' },
    ],
  },
  {
    name: 'rejected writes and reads do not use up a version',
    steps: [
      { send: 'SET k v', reply: OK, version: '1696374425000:1:StateStore', as: 'write' },
      { send: 'SET k w NX', reply: REFUSED, version: 'same as write' },
      { send: 'VDEL k w', reply: REFUSED, version: 'same as write' },
      { send: 'GET k', reply: value('v'), version: 'same as write' },
      { send: 'SET k w', reply: OK, version: '1696374425000:2:StateStore' },
    ],
  },
  {
    name: "versions still increase when the store's wall clock is set back",
    steps: [
      { send: 'SET k 1', reply: OK, version: '1696374425000:1:StateStore' },
      { jump: -30_000 },
      { send: 'SET k 2', reply: OK, version: '1696374425000:2:StateStore' },
      { send: 'DEL k', reply: DELETED, version: '1696374425000:3:StateStore' },
    ],
  },
  {
    name: 'when the wall clock of the store is set back by a day, no request is rejected, and versions continue to increase',
    steps: [
      { send: 'SET k 1', reply: OK, version: '1696374425000:1:StateStore', as: 'write' },
      { jump: -86_400_000 },
      { send: 'GET k', reply: value('1'), version: 'same as write' },
      { send: 'SET k 2', reply: OK, version: '1696374425000:2:StateStore' },
      { send: 'SET k 3', ts: -1_000, from: 'bob', reply: OK, version: '1696374425000:3:StateStore' },
      { send: 'SET k 4', ts: 60_000, from: 'bob', reply: OK, version: '1696374425000:4:StateStore' },
      { send: 'DEL k', ts: null, reply: DELETED, version: '1696374425000:5:StateStore' },
    ],
  },
  {
    name: 'after the wall clock was ahead, versions continue from that time until the clock has caught up',
    steps: [
      { jump: 120_000 },
      { send: 'SET k 1', reply: OK, version: '1696374545000:1:StateStore' },
      { jump: -120_000 },
      { send: 'SET k 2', reply: OK, version: '1696374545000:2:StateStore' },
      { advance: 120_000 },
      { send: 'SET k 3', ts: -1, reply: OK, version: '1696374545000:3:StateStore' },
      { advance: 1 },
      { send: 'SET k 4', ts: -1, reply: OK, version: '1696374545001:0:StateStore' },
    ],
  },
  {
    name: 'a client clock taken from versions is accepted, but no clock that is further ahead',
    steps: [
      { jump: 86_400_000 },
      { send: 'SET k 1', reply: OK, version: '1696460825000:1:StateStore' },
      { jump: -86_400_000 },
      { send: 'SET k 2', ts: '1696460825000:7:CLIENT', reply: OK, version: '1696460825000:8:StateStore' },
      { send: 'SET k 3', ts: '1696460825001:0:CLIENT', reply: CLOCK_SKEW, version: 'none' },
      { send: 'SET k 3', ts: 60_001, reply: OK, version: '1696460825000:9:StateStore' },
    ],
  },
  {
    name: "a key that is protected by a lock from the time when the clock was ahead can be written with the lock's token",
    steps: [
      { jump: 86_400_000 },
      { send: 'SET lock me NX PX 10000', reply: OK, version: '1696460825000:1:StateStore' },
      { jump: -86_400_000 },
      { send: 'SET k 1', ft: '1696460825000:1:StateStore', reply: OK, version: 'new' },
      { send: 'SET k 2', reply: TOKEN_REQUIRED, version: 'none' },
      { send: 'SET k 3', ft: '1696460825001:0:LOCK', reply: TOKEN_SKEW, version: 'none' },
    ],
  },
  ...MALFORMED.map(
    (ts): ConformanceCase => ({
      name: `the timestamp ${JSON.stringify(ts)} is malformed for every command`,
      steps: [
        { send: 'SET k v', reply: OK, version: 'new', as: 'write' },
        { send: 'SET k w', ts, reply: MALFORMED_TIMESTAMP, version: 'none' },
        { send: 'DEL k', ts, reply: MALFORMED_TIMESTAMP, version: 'none' },
        { send: 'VDEL k v', ts, reply: MALFORMED_TIMESTAMP, version: 'none' },
        { send: 'GET k', reply: value('v'), version: 'same as write' },
      ],
    }),
  ),
]
