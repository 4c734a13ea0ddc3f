import { type Observable, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ConnectionLostError, type Key, text } from '../../../src/client/index.js'
import { SOURCE } from '../../../src/client/keys/source.js'
import { type KeyState, KeyWatch, UNWATCHED } from '../../../src/client/react/use-key.js'
import { eventually } from '../../support/eventually.js'
import { record } from '../../support/open-client.js'
import { type Answer, fakeStore } from '../../support/operator-session.js'

type Answers = Partial<Record<string, Observable<string | Answer>>>
const OK: Answer = { payload: '+OK\r\n' }

function open(answers: Answers = {}) {
  const script: Answers = { GET: of('one'), ...answers }
  const { store, session } = fakeStore(({ verb }) => script[verb] ?? of(OK))
  const key = store.key('k', text)
  return { store, session, key, sent: () => session.requests.map(({ verb, rest }) => [verb, ...rest].join(' ')) }
}

const watchOf = (key: Key<unknown>): KeyWatch => new KeyWatch(key[SOURCE].key, key[SOURCE].host)
const stateText = ({ raw, freshness, error }: KeyState): string =>
  [raw?.op ?? 'nothing', freshness.state, error?.code].filter(Boolean).join(' ')

/** Subscribes as React does: reads the snapshot after every change, and once after subscribing. */
function subscribeLikeReact(watch: KeyWatch) {
  const states: KeyState[] = []
  const read = (): void => {
    const state = watch.read()
    if (state !== states.at(-1)) states.push(state)
  }
  read()
  let notificationCount = 0
  const leave = watch.subscribe(() => {
    notificationCount++
    read()
  })
  read()
  return {
    leave,
    get states() {
      return states.map(stateText)
    },
    get notificationCount() {
      return notificationCount
    },
  }
}

/** Resolves after tasks that were deferred with `afterIo`. */
const afterDeferredTasks = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('a key as an external store', () => {
  it('sends nothing before it is subscribed, and returns the same object until then', () => {
    const { key, sent } = open()
    const watch = watchOf(key)
    expect(watch.read()).toBe(UNWATCHED)
    expect(watch.read()).toBe(UNWATCHED)
    expect(sent()).toEqual([])
  })

  it('notifies its listener of every difference, and of nothing else', () => {
    const registered = new Subject<Answer>()
    const { session, key } = open({ KEYNOTIFY: registered })
    const subscriber = subscribeLikeReact(watchOf(key))
    expect(subscriber.states).toEqual(['nothing connecting'])
    registered.next(OK)
    expect(subscriber.states).toEqual(['nothing connecting', 'set live'])
    session.notify('k', 'delete', 2)
    session.disconnect(new ConnectionLostError())
    session.connect()
    registered.next(OK)
    expect(subscriber.states).toEqual([
      'nothing connecting',
      'set live',
      'delete live',
      'delete stale',
      'delete resyncing',
      'set live',
    ])
    expect(subscriber.notificationCount).toBe(5)
  })

  it('returns the same object until the snapshot changes', () => {
    const { session, key } = open()
    const watch = watchOf(key)
    subscribeLikeReact(watch)
    const state = watch.read()
    expect(watch.read()).toBe(state)
    session.notify('k', { set: 'old' }, 0)
    expect(watch.read()).toBe(state)
    session.notify('k', { set: 'two' }, 2)
    expect(watch.read()).not.toBe(state)
  })

  it('ends its watch after the current task, so that resubscribing sends nothing', async () => {
    const { key, sent } = open()
    const watch = watchOf(key)
    const first = subscribeLikeReact(watch)
    first.leave()
    const second = subscribeLikeReact(watch)
    await afterDeferredTasks()
    expect(sent()).toEqual(['KEYNOTIFY', 'GET'])
    second.leave()
    expect(sent()).toEqual(['KEYNOTIFY', 'GET'])
    await eventually(() => sent().length > 2)
    expect(sent()).toEqual(['KEYNOTIFY', 'GET', 'KEYNOTIFY STOP'])
  })

  it('notifies no listener after unsubscribe', async () => {
    const { session, key } = open()
    const watch = watchOf(key)
    const subscriber = subscribeLikeReact(watch)
    subscriber.leave()
    session.notify('k', { set: 'two' }, 2)
    await afterDeferredTasks()
    session.notify('k', { set: 'three' }, 3)
    expect(subscriber.states).toEqual(['nothing connecting', 'set live'])
    expect(watch.read()).toBe(UNWATCHED)
  })

  it('shares the watch of its client, and returns the state of that watch immediately', async () => {
    const { session, key, sent } = open()
    const elsewhere = record(key.value$)
    expect(watchOf(key).read()).toMatchObject({ freshness: { state: 'live' } })
    const subscriber = subscribeLikeReact(watchOf(key))
    session.notify('k', { set: 'two' }, 2)
    expect(subscriber.states).toEqual(['set live', 'set live'])
    expect(subscriber.notificationCount).toBe(1)
    subscriber.leave()
    await afterDeferredTasks()
    session.notify('k', { set: 'three' }, 3)
    expect(elsewhere.values).toEqual(['one', 'two', 'three'])
    expect(sent()).toEqual(['KEYNOTIFY', 'GET'])
  })

  it('keeps the last entry as stale when the client is closed', async () => {
    const { store, key } = open()
    const subscriber = subscribeLikeReact(watchOf(key))
    await store.close()
    expect(subscriber.states.slice(1)).toEqual(['set live', 'set stale', 'set stale closed'])
  })

  it('reports synchronously that the client is closed', async () => {
    const { store, key } = open()
    await store.close()
    const subscriber = subscribeLikeReact(watchOf(key))
    expect(subscriber.states).toEqual(['nothing connecting', 'nothing connecting closed'])
  })

  it('reports a rejection, sends nothing more, and retries when it is subscribed again', async () => {
    const { key, sent } = open({ KEYNOTIFY: of('-ERR not authorized') })
    const watch = watchOf(key)
    const subscriber = subscribeLikeReact(watch)
    expect(subscriber.states).toEqual(['nothing connecting', 'nothing connecting not-authorized'])
    expect(watch.read()).toBe(watch.read())
    expect(sent()).toEqual(['KEYNOTIFY'])
    subscriber.leave()
    await afterDeferredTasks()
    expect(watch.read()).toBe(UNWATCHED)
    subscribeLikeReact(watch)
    expect(sent()).toEqual(['KEYNOTIFY', 'KEYNOTIFY'])
  })
})
