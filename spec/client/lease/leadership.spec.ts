import { map } from 'rxjs'
import { describe, expect } from 'vitest'
import { type Leadership, leadership } from '../../../src/client/lease/leadership.js'
import { ConnectionLostError } from '../../../src/core/util/errors.js'
import { at, JITTER, leaseBench, transcript } from '../../support/lease-bench.js'
import { marbleTest } from '../../support/marble-test.js'

const describeRole = (state: Leadership): string =>
  state.role === 'leader' ? `leads with ${state.token.wallClock} as ${state.leader}` : `follows ${state.leader}`

const roles$ = (store: ReturnType<typeof leaseBench>['store']) =>
  leadership(store, 'plant', { duration: 9_000, holder: 'me' }).pipe(map(describeRole))

describe('leadership', () => {
  marbleTest('a member starts as a follower, leads while no other member does, and emits each role once', m => {
    const { store } = leaseBench(m, { set: ['+1', '+2', '+3'], get: ['me 1'] })
    expect(transcript(m, roles$(store), 7_000)).toEqual(['0 follows undefined', '0 leads with 1 as me'])
  })

  marbleTest('a follower emits the current leader and its successors until the lease is free', m => {
    const { store, session } = leaseBench(m, { set: ['-5', '+9', '+10'], get: ['a 5'] })
    at(m, 1_000, () => session.notify('plant', { set: 'b' }, 6))
    at(m, 2_000, () => session.notify('plant', 'delete', 7))
    expect(transcript(m, roles$(store), 3_000)).toEqual([
      '0 follows undefined',
      '0 follows a',
      '1000 follows b',
      `${2_000 + JITTER} leads with 9 as me`,
    ])
  })

  marbleTest('a member steps down when the lease is lost, and leads again with a newer token', m => {
    const { store, session } = leaseBench(m, { set: ['+1', '+8'], get: ['me 1'] })
    at(m, 1_000, () => session.notify('plant', 'delete', 7))
    expect(transcript(m, roles$(store), 2_000)).toEqual([
      '0 follows undefined',
      '0 leads with 1 as me',
      '1000 follows undefined',
      `${1_000 + JITTER} leads with 8 as me`,
    ])
  })

  marbleTest('a leader stays the leader through a reconnect that is shorter than the lease', m => {
    const { store, session } = leaseBench(m, { set: ['+1', '+2', '+3', '+4', '+5'], get: ['me 1'] })
    at(m, 1_000, () => session.disconnect(new ConnectionLostError()))
    at(m, 5_000, () => session.connect())
    expect(transcript(m, roles$(store), 9_500)).toEqual(['0 follows undefined', '0 leads with 1 as me'])
  })

  marbleTest(
    "closing the leader's client makes the leader a follower, releases the lease and completes leadership",
    m => {
      const { store, sent } = leaseBench(m, { set: ['+1'], get: ['me 1'] })
      at(m, 1_000, () => void store.close())
      expect(transcript(m, roles$(store), 2_000)).toEqual([
        '0 follows undefined',
        '0 leads with 1 as me',
        '1000 follows undefined',
        '1000 complete',
      ])
      expect(sent()).toContain('VDEL me')
    },
  )

  marbleTest('leadership errors when its lease errors', m => {
    const { store } = leaseBench(m, { set: ['-ERR not authorized'] })
    expect(transcript(m, roles$(store), 10)).toEqual(['0 follows undefined', '0 error not-authorized'])
  })
})
