import { describe, expect, it } from 'vitest'
import { FollowedKeys } from '../../../src/pubsub/bridge/followed-keys.js'

describe('keys that users follow', () => {
  it('are counted for a user with all its sessions, and for a session without a user alone', () => {
    const keys = new FollowedKeys(2)
    const session = (connectionId: string, userId?: string) => ({ connectionId, userId })
    keys.add(session('1', 'ann'))
    expect(keys.isFullFor(session('2', 'ann'))).toBe(false)
    keys.add(session('2', 'ann'))
    keys.add(session('ann'))
    const isFull = (): boolean[] =>
      [session('3', 'ann'), session('4', 'bob'), session('ann')].map(s => keys.isFullFor(s))
    expect(isFull()).toEqual([true, false, false])
    keys.remove(session('1', 'ann'))
    expect(isFull()).toEqual([false, false, false])
  })

  it('are ten thousand for a user', () => {
    const keys = new FollowedKeys()
    const ann = { connectionId: '1', userId: 'ann' }
    let count = 0
    for (; !keys.isFullFor(ann); count++) keys.add(ann)
    expect(count).toBe(10_000)
  })
})
