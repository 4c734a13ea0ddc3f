import { concat, type Observable, of, throwError } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Follower } from '../../../../src/server/log/cluster/follower.js'
import type { StreamMessage } from '../../../../src/server/log/cluster/stream.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { FakeCluster, FakeStream } from './fake-stream.js'

const messageAt = (position: number): StreamMessage => ({ position, time: 0, bytes: new Uint8Array(0) })
const lost$ = throwError(() => new Error('the subscription was lost'))

/** Follows a stream with the given subscriptions for a while. Returns the pauses between the subscriptions in ms. */
function pausesOf(subscribe: (after: number) => Observable<StreamMessage>, ms: number): number[] {
  const clock = new ManualClock()
  const stream = new FakeStream(new FakeCluster(clock), 1_024)
  const times: number[] = []
  stream.follow = after => {
    times.push(clock.monotonic())
    return subscribe(after)
  }
  let position = 7
  const follower = new Follower(stream, {
    clock,
    random: () => 0,
    position: () => position,
    onMessage: message => {
      position = Math.max(position, message.position)
    },
    onError: () => undefined,
  })
  onTestFinished(() => follower.stop())
  follower.start()
  clock.advance(ms)
  return times.slice(1).map((time, i) => time - (times[i] ?? 0))
}

describe('the pauses of a follower between lost subscriptions', () => {
  it('the pauses grow while the subscriptions deliver nothing', () => {
    expect(pausesOf(() => lost$, 1_800)).toEqual([25, 50, 100, 200, 400, 500, 500])
  })

  // Each subscription begins with the message that the node received last.
  it('the pauses grow while the subscriptions deliver only the message that the node already has', () => {
    expect(pausesOf(after => concat(of(messageAt(after)), lost$), 1_800)).toEqual([25, 50, 100, 200, 400, 500, 500])
  })

  it('a new message makes the next pause short again', () => {
    let subscriptions = 0
    const subscribe = (after: number): Observable<StreamMessage> =>
      concat(of(messageAt(after), ...(++subscriptions === 4 ? [messageAt(after + 1)] : [])), lost$)
    expect(pausesOf(subscribe, 300)).toEqual([25, 50, 100, 25, 50])
  })
})
