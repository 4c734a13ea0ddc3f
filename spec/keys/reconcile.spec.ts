import { describe, expect, it } from 'vitest'
import { utf8 } from '../../src/bytes.js'
import { Hlc } from '../../src/hlc/hlc.js'
import {
  type Change,
  INITIAL,
  type RawEntry,
  reconcile,
  type WatchEvent,
  type WatchState,
} from '../../src/keys/reconcile.js'

const v = (n: number): Hlc => new Hlc(1_000 + n, 0, 'StateStore')
const value = (n: number): Uint8Array => utf8(`v${n}`)

const connected: WatchEvent = { type: 'connected', trusted: true }
const resumed: WatchEvent = { type: 'connected', trusted: false }
const disconnected: WatchEvent = { type: 'disconnected' }
const registered: WatchEvent = { type: 'registered' }
const absent: WatchEvent = { type: 'read', found: undefined }
const found = (n: number): WatchEvent => ({ type: 'read', found: { value: value(n), version: v(n) } })
const changed = (change: Change): WatchEvent => ({ type: 'notified', change })
const set = (n: number): WatchEvent => changed({ op: 'set', value: value(n), version: v(n) })
const del = (n: number): WatchEvent => changed({ op: 'delete', value: undefined, version: v(n) })

const short = ({ op, version, source }: RawEntry): string =>
  `${op}${version ? ` ${version.wallClock - 1_000}` : ''} (${source})`

/** What a watch emits and sends on the way through the events. */
function run(...events: WatchEvent[]): { emitted: string[]; sent: string[]; state: WatchState } {
  let state = INITIAL
  const emitted: string[] = []
  const sent: string[] = []
  for (const event of events) {
    const step = reconcile(state, event)
    state = step.state
    emitted.push(...step.emit.map(short))
    if (step.send) sent.push(step.send)
  }
  return { emitted, sent, state }
}

const start = [connected, registered, found(1)]

describe('the start of a watch', () => {
  it('registers first and reads when it is registered', () => {
    expect(run(connected)).toMatchObject({ sent: ['KEYNOTIFY'], emitted: [] })
    expect(run(connected, registered)).toMatchObject({ sent: ['KEYNOTIFY', 'GET'], emitted: [] })
  })

  it('emits the snapshot, then every change', () => {
    expect(run(...start, set(2), del(3), set(4)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 2 (notification)',
      'delete 3 (notification)',
      'set 4 (notification)',
    ])
  })

  it('emits that there is no such key', () => {
    expect(run(connected, registered, absent).emitted).toEqual(['absent (snapshot)'])
  })

  it('emits a change once that the snapshot has already', () => {
    expect(run(connected, registered, set(1), found(1)).emitted).toEqual(['set 1 (notification)'])
    expect(run(connected, registered, found(1), set(1)).emitted).toEqual(['set 1 (snapshot)'])
  })

  it('drops a snapshot that was overtaken by a change', () => {
    expect(run(connected, registered, set(2), found(1)).emitted).toEqual(['set 2 (notification)'])
  })

  it('takes a change that comes before the answer to KEYNOTIFY', () => {
    expect(run(connected, set(1), registered, found(1)).emitted).toEqual(['set 1 (notification)'])
  })

  it('asks again when a change raced with the answer that there is no such key', () => {
    const raced = run(connected, registered, set(1), absent)
    expect(raced).toMatchObject({ emitted: ['set 1 (notification)'], sent: ['KEYNOTIFY', 'GET', 'GET'] })
    expect(run(connected, registered, set(1), absent, found(1)).emitted).toEqual(['set 1 (notification)'])
  })

  it('is quiet about the deletion of a key it has not seen', () => {
    expect(run(connected, registered, del(1), absent, absent).emitted).toEqual(['absent (snapshot)'])
    expect(run(connected, registered, absent, del(1)).emitted).toEqual(['absent (snapshot)'])
    expect(run(connected, registered, del(2), found(1)).emitted).toEqual(['absent (snapshot)'])
  })
})

describe('changes', () => {
  it('are emitted once and in the order of their versions, whatever is repeated', () => {
    expect(run(...start, set(2), set(2), set(1), set(3), set(2)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 2 (notification)',
      'set 3 (notification)',
    ])
  })

  it('older than a deletion do not follow it', () => {
    expect(run(...start, del(3), set(2)).emitted).toEqual(['set 1 (snapshot)', 'delete 3 (notification)'])
  })

  it('without version or without value are read', () => {
    for (const change of [
      { op: 'set', value: value(2), version: undefined },
      { op: 'set', value: undefined, version: v(2) },
    ] as const) {
      const { emitted, sent } = run(...start, changed(change), found(2))
      expect({ emitted, sent }).toEqual({
        emitted: ['set 1 (snapshot)', 'set 2 (notification)'],
        sent: ['KEYNOTIFY', 'GET', 'GET'],
      })
    }
  })

  it('without version that come while it reads are read again', () => {
    const bare = changed({ op: 'delete', value: undefined, version: undefined })
    expect(run(...start, bare, bare, found(1), absent).emitted).toEqual(['set 1 (snapshot)', 'absent (notification)'])
  })
})

describe('a reconnect', () => {
  it('registers and reads again, and emits nothing when nothing changed', () => {
    const { emitted, sent } = run(...start, disconnected, connected, registered, found(1))
    expect({ emitted, sent }).toEqual({
      emitted: ['set 1 (snapshot)'],
      sent: ['KEYNOTIFY', 'GET', 'KEYNOTIFY', 'GET'],
    })
  })

  it('emits what changed meanwhile as resync', () => {
    expect(run(...start, disconnected, connected, registered, found(5)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 5 (resync)',
    ])
    expect(run(...start, disconnected, connected, registered, absent).emitted).toEqual([
      'set 1 (snapshot)',
      'absent (resync)',
    ])
    expect(run(connected, registered, absent, disconnected, connected, registered, absent).emitted).toEqual([
      'absent (snapshot)',
    ])
  })

  it('ignores answers and changes of the connection that is gone', () => {
    expect(run(...start, disconnected, set(2), found(3), registered)).toMatchObject({ emitted: ['set 1 (snapshot)'] })
  })

  it('follows a store that lost its data and starts over with older versions', () => {
    const { emitted } = run(
      ...start,
      set(50),
      disconnected,
      connected,
      registered,
      absent,
      set(20),
      disconnected,
      connected,
      registered,
      found(10),
    )
    expect(emitted).toEqual([
      'set 1 (snapshot)',
      'set 50 (notification)',
      'absent (resync)',
      'set 20 (notification)',
      'set 10 (resync)',
    ])
  })
})

describe('a resumed session, in which changes of before may still arrive', () => {
  it('drops those older than what it read', () => {
    expect(run(...start, disconnected, resumed, registered, found(5), set(3), del(4), set(6)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 5 (resync)',
      'set 6 (notification)',
    ])
  })

  it('does not bring back a key that is gone', () => {
    const { emitted, sent } = run(...start, disconnected, resumed, registered, absent, set(3), absent)
    expect({ emitted, sent: sent.slice(2) }).toEqual({
      emitted: ['set 1 (snapshot)', 'absent (resync)'],
      sent: ['KEYNOTIFY', 'GET', 'GET'],
    })
  })

  it('holds a change that came before the read, and lets the read decide', () => {
    expect(run(...start, disconnected, resumed, set(3), registered, absent).emitted).toEqual([
      'set 1 (snapshot)',
      'absent (resync)',
    ])
    expect(run(...start, disconnected, resumed, registered, set(3), found(2)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 2 (resync)',
      'set 3 (notification)',
    ])
  })

  it('asks again when a change raced with the answer that there is no such key', () => {
    const { emitted, sent } = run(...start, disconnected, resumed, registered, set(3), absent, absent)
    expect({ emitted, sent: sent.slice(2) }).toEqual({
      emitted: ['set 1 (snapshot)', 'absent (resync)'],
      sent: ['KEYNOTIFY', 'GET', 'GET'],
    })
  })

  it('emits a new key once a read has shown it, and trusts what follows', () => {
    const { emitted, sent } = run(...start, disconnected, resumed, registered, absent, set(7), found(7), set(8), del(9))
    expect({ emitted, sent: sent.slice(2) }).toEqual({
      emitted: [
        'set 1 (snapshot)',
        'absent (resync)',
        'set 7 (notification)',
        'set 8 (notification)',
        'delete 9 (notification)',
      ],
      sent: ['KEYNOTIFY', 'GET', 'GET'],
    })
  })

  it('does not trust changes after the store went back in time, until reads show them', () => {
    const { emitted } = run(
      ...start,
      set(50),
      disconnected,
      resumed,
      registered,
      found(10),
      set(49),
      found(10),
      set(60),
      found(60),
    )
    expect(emitted).toEqual(['set 1 (snapshot)', 'set 50 (notification)', 'set 10 (resync)', 'set 60 (notification)'])
  })

  it('holds a bounded number of changes', () => {
    const flood = Array.from({ length: 1_000 }, (_, i) => set(100 + i))
    expect(run(...start, disconnected, resumed, registered, ...flood).state.held).toHaveLength(64)
  })
})
