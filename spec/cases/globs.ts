import { ABSENT, type ConformanceCases, DELETED, error, NOTHING, OK } from './case.js'

const SYNTAX = error('syntax error')

const watches = (glob: string, from: 'alice' | 'bob' = 'bob') =>
  ({ send: `GLOBNOTIFY ${glob}`, from, reply: OK, version: 'none' }) as const

const stops = (glob: string, reply: string = OK) =>
  ({ send: `GLOBNOTIFY ${glob} STOP`, from: 'bob', reply, version: 'none' }) as const

/** Cases of GLOBNOTIFY and its notifications, an extension of this store. */
export const GLOBS: ConformanceCases = {
  'a client that watches a glob is notified of every matching key, including new keys, and of no other': [
    watches('sensor/*'),
    { send: 'SET sensor/1 a', reply: OK, version: 'new', told: { bob: [{ set: ['sensor/1', 'a'] }] } },
    { send: 'SET sensor/1 b', reply: OK, version: 'new', told: { bob: [{ set: ['sensor/1', 'b'] }] } },
    { send: 'DEL sensor/1', reply: DELETED, version: 'new', told: { bob: [{ delete: 'sensor/1' }] } },
    { send: 'SET sensor a', reply: OK, version: 'new' },
    { send: 'GET sensor/1', reply: ABSENT, version: 'none' },
  ],
  'a client that watches a key by several globs and by name is notified once': [
    watches('a*'),
    watches('*b'),
    watches('a?b'),
    { send: 'KEYNOTIFY axb', from: 'bob', reply: OK, version: 'none' },
    { send: 'SET axb 1', reply: OK, version: 'new', told: { bob: [{ set: ['axb', '1'] }] } },
    { send: 'SET ax 1', reply: OK, version: 'new', told: { bob: [{ set: ['ax', '1'] }] } },
  ],
  'all clients that watch a glob are notified': [
    watches('*'),
    watches('*', 'alice'),
    {
      send: 'SET k v',
      reply: OK,
      version: 'new',
      told: { alice: [{ set: ['k', 'v'] }], bob: [{ set: ['k', 'v'] }] },
    },
  ],
  'clients that watch a matching glob are notified of the expiry of a key': [
    watches('k*'),
    { send: 'SET k1 v PX 100', reply: OK, version: 'new', told: { bob: [{ set: ['k1', 'v'] }] } },
    { advance: 100, told: { bob: [{ delete: 'k1' }] } },
  ],
  'a glob is notified until STOP, whose reply reports whether the glob was watched': [
    stops('k*', NOTHING),
    watches('k*'),
    watches('k*'),
    stops('K*', NOTHING),
    stops('k*'),
    stops('k*', NOTHING),
    { send: 'SET k1 v', reply: OK, version: 'new' },
  ],
  'a glob and the key of the same name are watched independently': [
    { send: 'KEYNOTIFY k*', from: 'bob', reply: OK, version: 'none' },
    { send: 'SET k1 v', reply: OK, version: 'new' },
    watches('k*'),
    { send: 'KEYNOTIFY k* STOP', from: 'bob', reply: OK, version: 'none' },
    { send: 'SET k1 w', reply: OK, version: 'new', told: { bob: [{ set: ['k1', 'w'] }] } },
  ],
  'a glob of more than 1,024 bytes and an unknown option are syntax errors': [
    { send: `GLOBNOTIFY ${'*'.repeat(1_025)}`, reply: SYNTAX, version: 'none' },
    { send: 'GLOBNOTIFY k* stop', reply: SYNTAX, version: 'none' },
    { send: 'GLOBNOTIFY', reply: error('wrong number of arguments'), version: 'none' },
    { send: 'GLOBNOTIFY k* STOP now', reply: error('wrong number of arguments'), version: 'none' },
  ],
}
