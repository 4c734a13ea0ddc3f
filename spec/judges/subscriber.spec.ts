import { expect, it } from 'vitest'
import { History } from '../../harness/judges/history.js'
import { type ReceivedEntry, SubscriberJudge } from '../../harness/judges/subscriber.js'

const KEY = 'chaos/1'
const versionOf = (at: number): string => `${at}:0:StateStore`

/** Returns the complaints about a subscriber that receives some of a key's changes on one connection. */
function judge(changes: readonly number[], liveFrom: number, hasLastingRegistrations: boolean): string {
  const history = new History()
  for (const at of [10, 11, 12, 13])
    history.record({ key: KEY, op: 'set', value: `v${at}`, version: versionOf(at) }, at)
  const judge = new SubscriberJudge(history, undefined, hasLastingRegistrations)
  const received = changes.map(
    (at): ReceivedEntry => ({
      key: KEY,
      op: 'set',
      value: `v${at}`,
      version: versionOf(at),
      connection: 0,
      connectedAt: 5,
      isLive: at >= liveFrom,
      source: 'notification',
      isOnlyWatcher: false,
    }),
  )
  return received.flatMap(entry => judge.judge(entry)).join()
}

it('the judge rejects a watcher that misses a change', () => {
  expect(judge([10, 11, 13], 20, false)).toMatch(/not emitted/)
})

it('changes may be missing before the watcher is live after an earlier registration', () => {
  expect(judge([10, 11, 13], 20, true)).toBe('')
})

it('a live watcher that misses a change is rejected despite an earlier registration', () => {
  expect(judge([10, 11, 13], 11, true)).toMatch(/not emitted/)
})
