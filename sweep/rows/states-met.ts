import { publish, subscribe } from '../../harness/packets.js'
import { command, request } from '../scene/resp3.js'
import type { Row } from '../scene/row.js'
import { login } from '../scene/states.js'
import { frameRow, loginRow } from './frame-rows.js'

const DEEP = 'a/'.repeat(96)
const CHAIN = 'offline sessions at their limit of queued bytes, each with a will to the next'
const FLOOD_BYTES = 60_000

/** The frames whose work may grow with what the principal holds already. */
export const STATE_ROWS: readonly Row[] = [
  ...[DEEP, `t/${DEEP}y`].map((topic, at) =>
    frameRow(
      `PUBLISH to a topic ${at === 0 ? 'of no filter' : 'that filters nearly match'}`,
      id => publish(topic, 'x', { qos: 1, id }),
      {
        state: 'subscriptions that nearly match',
      },
    ),
  ),
  frameRow('SUBSCRIBE beside many subscriptions', id => subscribe([`t/+/${DEEP}${id}`], id), {
    state: 'subscriptions that nearly match',
  }),
  ...['#', '+/#', `${'+/'.repeat(97)}n`, `r1/${DEEP}z`].map(filter =>
    frameRow(
      `SUBSCRIBE to ${filter.length > 9 ? `${filter.slice(0, 6)}…` : filter} of retained topics`,
      id => subscribe([filter], id, 0),
      {
        state: 'retained messages on deep topics',
      },
    ),
  ),
  frameRow('PUBLISH of a retained message beside many', id => publish(`r${id}/${DEEP}z`, 'y', { retain: true }), {
    state: 'retained messages on deep topics',
  }),
  frameRow('PUBLISH to offline sessions', id => publish('t', 'x', { qos: 1, id }), { state: 'offline sessions' }),
  loginRow('CONNECT beside offline sessions', n => login(`new-${n}`), 'offline sessions'),
  {
    name: 'PUBLISH that ends a chain of sessions with wills',
    state: CHAIN,
    rounds: 1,
    isOnce: true,
    start: async scene => {
      const attacker = await scene.connect(login(`trigger-${scene.unique()}`))
      return async round => {
        await attacker.send(publish('w/0', 'go', { qos: 1, id: 60_000 + round }))
        await attacker.settled()
      }
    },
  },
  frameRow(
    'PUBLISH to a shared group that acknowledges nothing',
    id => publish('s', Buffer.alloc(FLOOD_BYTES), { qos: 1, id }),
    {
      state: 'members of a shared group that acknowledge nothing',
    },
  ),
  {
    name: 'PUBLISH to a shared group until its members are evicted',
    state: 'members of a shared group that acknowledge nothing',
    rounds: 2,
    start: async scene => {
      let attacker = await scene.connect(login(`flood-${scene.unique()}`))
      return async round => {
        if (attacker.ended) attacker = await scene.connect(login(`flood-${scene.unique()}`))
        for (let n = 0; n < 400; n++)
          await attacker.send(publish('s', Buffer.alloc(FLOOD_BYTES), { qos: 1, id: 400 * round + n + 1 }))
        await attacker.settled()
      }
    },
  },
  ...(['GET', 'SET', 'DEL'] as const).map(verb =>
    frameRow(
      `request ${verb} beside many keys`,
      n => request('beside', command(verb, `key/${n}`, ...(verb === 'SET' ? ['v'] : [])), n),
      {
        state: 'keys with one expiry',
      },
    ),
  ),
  ...['*', '*9*9*9*', 'nothing'].map(glob =>
    frameRow(`request SCAN ${glob} of many keys`, n => request('scans', command('SCAN', glob), n), {
      state: 'keys with one expiry',
    }),
  ),
  ...(['SET', 'KEYNOTIFY', 'GLOBNOTIFY'] as const).map(verb =>
    frameRow(
      `request ${verb} beside many watches`,
      n => request('watching', command(verb, `t${n}`, ...(verb === 'SET' ? ['v'] : [])), n),
      {
        state: 'watches',
      },
    ),
  ),
  loginRow('CONNECT that takes over a client with many watches', () => login('filler'), 'watches'),
  ...['k', 't1', 'x'.repeat(20_000)].map(key =>
    frameRow(
      `request GET of a key of ${key.length} bytes under many rules`,
      n => request('ruled', command('GET', key), n),
      {
        state: 'rules of a policy',
      },
    ),
  ),
  frameRow('request SCAN * under many rules', n => request('ruled', command('SCAN', '*'), n), {
    state: 'rules of a policy',
  }),
]
