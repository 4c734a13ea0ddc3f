import { describe, expect, it } from 'vitest'
import { KeyWatchQuota } from '../../../src/pubsub/bridge/bridge.js'

describe('KeyWatchQuota', () => {
  it('the quota of a user counts the watches of all its sessions', () => {
    const keys = new KeyWatchQuota(2)
    const session = (connectionId: string, userId?: string) => ({
      connectionId,
      userId,
      owner: userId ?? `192.0.2.${connectionId}`,
    })
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

  it('the quota of anonymous clients counts the watches of one address', () => {
    const keys = new KeyWatchQuota(2)
    for (let i = 0; i < 2; i++) keys.add({ owner: '192.0.2.1' })
    expect([keys.isFullFor({ owner: '192.0.2.1' }), keys.isFullFor({ owner: '192.0.2.2' })]).toEqual([true, false])
  })

  it('a user can watch ten thousand keys', () => {
    const keys = new KeyWatchQuota()
    const ann = { connectionId: '1', userId: 'ann', owner: 'ann' }
    let count = 0
    for (; !keys.isFullFor(ann); count++) keys.add(ann)
    expect(count).toBe(10_000)
  })
})
