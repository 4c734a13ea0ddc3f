import { Subscription } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { RequestWindow } from '../../../src/client/watch/watch-requests.js'

describe('RequestWindow', () => {
  /** Creates a window of two, in which requests run until they are ended. */
  function open(): {
    window: RequestWindow<string>
    take: (owner: string) => void
    end: (owner: string) => void
    started: string[]
  } {
    const window = new RequestWindow<string>(2)
    const started: string[] = []
    const running = new Map<string, Subscription>()
    const take = (owner: string): void =>
      window.enqueue(owner, () => {
        started.push(owner)
        const request = new Subscription()
        running.set(owner, request)
        return request
      })
    return { window, take, started, end: owner => running.get(owner)?.unsubscribe() }
  }

  it('requests start in order, and at most `limit` are in flight', () => {
    const { take, end, started } = open()
    for (const owner of ['a', 'b', 'c', 'd']) take(owner)
    expect(started).toEqual(['a', 'b'])
    end('b')
    expect(started).toEqual(['a', 'b', 'c'])
    end('a')
    expect(started).toEqual(['a', 'b', 'c', 'd'])
  })

  it('an owner that enqueues twice while it waits is started once', () => {
    const { take, end, started } = open()
    for (const owner of ['a', 'b', 'c', 'c']) take(owner)
    end('a')
    end('b')
    expect(started).toEqual(['a', 'b', 'c'])
  })

  it('a queued request can be removed', () => {
    const { window, take, end, started } = open()
    for (const owner of ['a', 'b', 'c', 'd']) take(owner)
    window.remove('c')
    end('a')
    expect(started).toEqual(['a', 'b', 'd'])
    window.clear()
    take('e')
    end('b')
    expect(started).toEqual(['a', 'b', 'd', 'e'])
  })

  it('a request that ends synchronously frees its slot immediately', () => {
    const window = new RequestWindow<number>(1)
    let started = 0
    for (let i = 0; i < 1_000; i++) {
      window.enqueue(i, () => {
        started++
        return Subscription.EMPTY
      })
    }
    expect(started).toBe(1_000)
  })
})
