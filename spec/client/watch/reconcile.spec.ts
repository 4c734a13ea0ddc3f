import { describe, expect, it } from 'vitest'
import { reconcile } from '../../../src/client/watch/reconcile.js'
import {
  INITIAL,
  type NotifiedChange,
  type RawEntry,
  type WatchEvent,
  type WatchState,
} from '../../../src/client/watch/watch-state.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { utf8 } from '../../../src/core/util/bytes.js'

type Notified = WatchEvent & { readonly type: 'notified' }

const v = (n: number): Hlc => new Hlc(1_000 + n, 0, 'StateStore')
const value = (n: number): Uint8Array => utf8(`v${n}`)

const connected: WatchEvent = { type: 'connected', rejoined: false }
const rejoined: WatchEvent = { type: 'connected', rejoined: true }
const disconnected: WatchEvent = { type: 'disconnected' }
const registered: WatchEvent = { type: 'registered' }
const absent: WatchEvent = { type: 'read', reading: { value: undefined, version: undefined } }
/** A not-found response with the last version of the store. */
const absentAt = (n: number): WatchEvent => ({ type: 'read', reading: { value: undefined, version: v(n) } })
const found = (n: number): WatchEvent => ({ type: 'read', reading: { value: value(n), version: v(n) } })
const changed = (change: NotifiedChange): Notified => ({ type: 'notified', change, certain: true })
/** The same notification, possibly queued before the reconnect. */
const uncertain = (event: Notified): WatchEvent => ({ ...event, certain: false })
const set = (n: number): Notified => changed({ op: 'set', value: value(n), version: v(n) })
const del = (n: number): Notified => changed({ op: 'delete', value: undefined, version: v(n) })

const short = ({ op, version, source }: RawEntry): string =>
  `${op}${version ? ` ${version.wallClock - 1_000}` : ''} (${source})`

/** Returns the emitted entries and sent requests of a sequence of events. */
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

describe('starting a watch', () => {
  it('a new watch registers, then reads', () => {
    expect(run(connected)).toMatchObject({ sent: ['KEYNOTIFY'], emitted: [] })
    expect(run(connected, registered)).toMatchObject({ sent: ['KEYNOTIFY', 'GET'], emitted: [] })
  })

  it('a new watch emits the snapshot, and then every change', () => {
    expect(run(...start, set(2), del(3), set(4)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 2 (notification)',
      'delete 3 (notification)',
      'set 4 (notification)',
    ])
  })

  it('a new watch emits an entry for an absent key', () => {
    expect(run(connected, registered, absent).emitted).toEqual(['absent (snapshot)'])
  })

  it('a new watch emits a change that the snapshot already contains only once', () => {
    expect(run(connected, registered, set(1), found(1)).emitted).toEqual(['set 1 (notification)'])
    expect(run(connected, registered, found(1), set(1)).emitted).toEqual(['set 1 (snapshot)'])
  })

  it('a new watch drops a snapshot that a change overtook', () => {
    expect(run(connected, registered, set(2), found(1)).emitted).toEqual(['set 2 (notification)'])
  })

  it('a new watch applies a change that precedes the response to KEYNOTIFY', () => {
    expect(run(connected, set(1), registered, found(1)).emitted).toEqual(['set 1 (notification)'])
  })

  it('a new watch prefers a change to a later not-found, as a deletion would be notified', () => {
    const raced = run(connected, registered, set(1), absent)
    expect(raced).toMatchObject({ emitted: ['set 1 (notification)'], sent: ['KEYNOTIFY', 'GET'] })
    expect(run(connected, registered, set(1), absent, del(2)).emitted).toEqual([
      'set 1 (notification)',
      'delete 2 (notification)',
    ])
  })

  it('a new watch emits nothing for the deletion of a key that was not read', () => {
    expect(run(connected, registered, del(1), absent, absent).emitted).toEqual(['absent (snapshot)'])
    expect(run(connected, registered, absent, del(1)).emitted).toEqual(['absent (snapshot)'])
    expect(run(connected, registered, del(2), found(1)).emitted).toEqual(['absent (snapshot)'])
  })
})

describe('changes', () => {
  it('are emitted once and in version order, even after a redelivery', () => {
    expect(run(...start, set(2), set(2), set(1), set(3), set(2)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 2 (notification)',
      'set 3 (notification)',
    ])
  })

  it('older than a deletion are dropped', () => {
    expect(run(...start, del(3), set(2)).emitted).toEqual(['set 1 (snapshot)', 'delete 3 (notification)'])
  })

  it('a change without a version or a value causes a read', () => {
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

  it('a change without a version that arrives during a read causes another read', () => {
    const bare = changed({ op: 'delete', value: undefined, version: undefined })
    expect(run(...start, bare, bare, found(1), absent).emitted).toEqual(['set 1 (snapshot)', 'absent (notification)'])
  })
})

describe('a reconnect', () => {
  it('after a reconnect, a watch registers, reads, and emits nothing if nothing changed', () => {
    const { emitted, sent } = run(...start, disconnected, connected, registered, found(1))
    expect({ emitted, sent }).toEqual({
      emitted: ['set 1 (snapshot)'],
      sent: ['KEYNOTIFY', 'GET', 'KEYNOTIFY', 'GET'],
    })
  })

  it('after a reconnect, a watch emits a change made during the outage as resync', () => {
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

  it('after a reconnect, a watch ignores responses and changes of the lost connection', () => {
    expect(run(...start, disconnected, set(2), found(3), registered)).toMatchObject({ emitted: ['set 1 (snapshot)'] })
  })

  it('after a reconnect, a watch follows a store that lost data and has older versions', () => {
    const { emitted } = run(
      ...start,
      set(50),
      disconnected,
      connected,
      registered,
      absentAt(15),
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

  it('after a reconnect, a watch emits a different value even with the same version', () => {
    const other: WatchEvent = { type: 'read', reading: { value: value(9), version: v(1) } }
    expect(run(...start, disconnected, connected, registered, other).emitted).toEqual([
      'set 1 (snapshot)',
      'set 1 (resync)',
    ])
  })
})

describe('a not-found response', () => {
  it('a change after a not-found without a version causes a read, as it may be older', () => {
    const { emitted, sent } = run(connected, registered, absent, set(2), absent)
    expect({ emitted, sent }).toEqual({ emitted: ['absent (snapshot)'], sent: ['KEYNOTIFY', 'GET', 'GET'] })
  })

  it('a read that finds a value restores the order after a not-found without a version', () => {
    const { emitted, sent } = run(connected, registered, absent, set(7), set(8), found(8), set(9), del(10), set(11))
    expect({ emitted, sent }).toEqual({
      emitted: [
        'absent (snapshot)',
        'set 8 (notification)',
        'set 9 (notification)',
        'delete 10 (notification)',
        'set 11 (notification)',
      ],
      sent: ['KEYNOTIFY', 'GET', 'GET'],
    })
  })

  it('a watch keeps reading while changes race with not-found responses without a version', () => {
    const { emitted, sent } = run(connected, registered, absent, set(2), set(4), absent, absent)
    expect({ emitted, sent }).toEqual({ emitted: ['absent (snapshot)'], sent: ['KEYNOTIFY', 'GET', 'GET', 'GET'] })
  })

  it('after a not-found with a version, only newer changes are emitted', () => {
    const { emitted, sent } = run(connected, registered, absentAt(5), set(3), del(5), set(6), del(7))
    expect({ emitted, sent }).toEqual({
      emitted: ['absent (snapshot)', 'set 6 (notification)', 'delete 7 (notification)'],
      sent: ['KEYNOTIFY', 'GET'],
    })
  })

  it('with a version is emitted only if no newer change has been emitted', () => {
    expect(run(connected, registered, set(6), absentAt(5)).emitted).toEqual(['set 6 (notification)'])
    expect(run(connected, registered, set(4), absentAt(5)).emitted).toEqual([
      'set 4 (notification)',
      'absent (snapshot)',
    ])
  })
})

describe('a watch restarted on the same connection', () => {
  it('a restarted watch holds changes until its read completes', () => {
    expect(run(rejoined, set(1), registered, set(2), absent, absent).emitted).toEqual(['absent (snapshot)'])
    expect(run(rejoined, set(1), registered, set(2), found(3)).emitted).toEqual(['set 3 (snapshot)'])
  })

  it('a restarted watch loses no change that is newer than its read', () => {
    expect(run(rejoined, registered, set(2), set(4), del(5), found(3)).emitted).toEqual([
      'set 3 (snapshot)',
      'set 4 (notification)',
      'delete 5 (notification)',
    ])
  })

  it('a restarted watch holds a bounded number of changes', () => {
    const flood = Array.from({ length: 1_000 }, (_, i) => set(100 + i))
    expect(run(rejoined, registered, ...flood).state.held).toHaveLength(64)
  })
})

describe('a resumed session whose queued notifications are indistinguishable from new notifications', () => {
  const resumed = [...start, disconnected, connected, registered]

  it('a watch on a resumed session drops changes older than the read', () => {
    const { emitted, sent } = run(...resumed, found(5), uncertain(set(3)), uncertain(del(4)))
    expect({ emitted, sent: sent.slice(3) }).toEqual({ emitted: ['set 1 (snapshot)', 'set 5 (resync)'], sent: ['GET'] })
  })

  it('on a resumed session, a newer change is emitted only after a read confirms it', () => {
    const { emitted, sent } = run(...resumed, found(5), uncertain(set(60)), found(5), uncertain(set(6)), found(6))
    expect({ emitted, sent: sent.slice(3) }).toEqual({
      emitted: ['set 1 (snapshot)', 'set 5 (resync)', 'set 6 (notification)'],
      sent: ['GET', 'GET', 'GET'],
    })
  })

  it('a watch on a resumed session trusts the changes that follow a change confirmed by a read', () => {
    const { emitted, sent } = run(
      ...resumed,
      found(5),
      uncertain(set(6)),
      uncertain(set(7)),
      found(6),
      uncertain(del(8)),
      uncertain(set(9)),
    )
    expect({ emitted, sent: sent.slice(3) }).toEqual({
      emitted: [
        'set 1 (snapshot)',
        'set 5 (resync)',
        'set 6 (notification)',
        'set 7 (notification)',
        'delete 8 (notification)',
        'set 9 (notification)',
      ],
      sent: ['GET', 'GET'],
    })
  })

  it("on a resumed session, changes that follow a change with the read's version are trusted", () => {
    const { emitted, sent } = run(...resumed, found(5), uncertain(set(5)), uncertain(set(6)))
    expect({ emitted, sent: sent.slice(3) }).toEqual({
      emitted: ['set 1 (snapshot)', 'set 5 (resync)', 'set 6 (notification)'],
      sent: ['GET'],
    })
    expect(run(...resumed, uncertain(set(4)), uncertain(set(5)), uncertain(set(6)), found(5)).emitted).toEqual([
      'set 1 (snapshot)',
      'set 5 (resync)',
      'set 6 (notification)',
    ])
  })

  it('on a resumed session, uncertain changes cause one read, and certain changes none', () => {
    const { emitted, sent } = run(...resumed, uncertain(set(30)), uncertain(set(31)), set(6), found(5), found(6))
    expect({ emitted, sent: sent.slice(3) }).toEqual({
      emitted: ['set 1 (snapshot)', 'set 6 (notification)'],
      sent: ['GET', 'GET'],
    })
  })

  it('a watch on a resumed session does not revive a deleted key', () => {
    const { emitted, sent } = run(...resumed, absent, uncertain(set(3)), absent, uncertain(del(4)))
    expect({ emitted, sent: sent.slice(3) }).toEqual({
      emitted: ['set 1 (snapshot)', 'absent (resync)'],
      sent: ['GET', 'GET'],
    })
  })

  it('on a resumed session, a change that races with not-found causes one last read', () => {
    const { emitted, sent } = run(...resumed, uncertain(set(3)), absent, absent)
    expect({ emitted, sent: sent.slice(3) }).toEqual({
      emitted: ['set 1 (snapshot)', 'absent (resync)'],
      sent: ['GET', 'GET'],
    })
  })

  it('a watch on a resumed session recovers after a reused version made it trust a stale change', () => {
    // Version 6 was used by the store that lost its data, and by the store that replaced it.
    const events = [...resumed, found(5), uncertain(set(6)), found(6), uncertain(set(40))]
    const { emitted, sent } = run(...events, uncertain(set(7)), found(7), uncertain(set(8)), found(8))
    expect(emitted.slice(-3)).toEqual(['set 40 (notification)', 'set 7 (notification)', 'set 8 (notification)'])
    expect(sent.slice(3)).toEqual(['GET', 'GET', 'GET', 'GET'])
  })
})
