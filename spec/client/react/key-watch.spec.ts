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
const inWords = ({ raw, freshness, error }: KeyState): string =>
  [raw?.op ?? 'nothing', freshness.state, error?.code].filter(Boolean).join(' ')

/** Subscribes as React does: it reads when it is told of a change, and once after it subscribed. */
function use(watch: KeyWatch) {
  const states: KeyState[] = []
  const read = (): void => {
    const state = watch.read()
    if (state !== states.at(-1)) states.push(state)
  }
  read()
  let told = 0
  const leave = watch.subscribe(() => {
    told++
    read()
  })
  read()
  return {
    leave,
    get states() {
      return states.map(inWords)
    },
    get told() {
      return told
    },
  }
}

/** Settles when what was put off until after the task is done. */
const afterwards = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('A key as an external store', () => {
  it('asks for nothing until it is subscribed, and is the same object meanwhile', () => {
    const { key, sent } = open()
    const watch = watchOf(key)
    expect(watch.read()).toBe(UNWATCHED)
    expect(watch.read()).toBe(UNWATCHED)
    expect(sent()).toEqual([])
  })

  it('tells what is different, and no more', () => {
    const registered = new Subject<Answer>()
    const { session, key } = open({ KEYNOTIFY: registered })
    const used = use(watchOf(key))
    expect(used.states).toEqual(['nothing connecting'])
    registered.next(OK)
    expect(used.states).toEqual(['nothing connecting', 'set live'])
    session.notify('k', 'delete', 2)
    session.disconnect(new ConnectionLostError())
    session.connect(false)
    registered.next(OK)
    expect(used.states).toEqual([
      'nothing connecting',
      'set live',
      'delete live',
      'delete stale',
      'delete resyncing',
      'set live',
    ])
    expect(used.told).toBe(5)
  })

  it('stays the same object as long as nothing is different', () => {
    const { session, key } = open()
    const watch = watchOf(key)
    use(watch)
    const state = watch.read()
    expect(watch.read()).toBe(state)
    session.notify('k', { set: 'old' }, 0)
    expect(watch.read()).toBe(state)
    session.notify('k', { set: 'two' }, 2)
    expect(watch.read()).not.toBe(state)
  })

  it('is left after the task alone, so that a subscription that follows goes unnoticed', async () => {
    const { key, sent } = open()
    const watch = watchOf(key)
    const first = use(watch)
    first.leave()
    const second = use(watch)
    await afterwards()
    expect(sent()).toEqual(['KEYNOTIFY', 'GET'])
    second.leave()
    expect(sent()).toEqual(['KEYNOTIFY', 'GET'])
    await eventually(() => sent().length > 2)
    expect(sent()).toEqual(['KEYNOTIFY', 'GET', 'KEYNOTIFY STOP'])
  })

  it('tells nothing to whoever has left', async () => {
    const { session, key } = open()
    const watch = watchOf(key)
    const used = use(watch)
    used.leave()
    session.notify('k', { set: 'two' }, 2)
    await afterwards()
    session.notify('k', { set: 'three' }, 3)
    expect(used.states).toEqual(['nothing connecting', 'set live'])
    expect(watch.read()).toBe(UNWATCHED)
  })

  it('shares the watch of its client, and knows at once what others know', async () => {
    const { session, key, sent } = open()
    const elsewhere = record(key.value$)
    expect(watchOf(key).read()).toMatchObject({ freshness: { state: 'live' } })
    const used = use(watchOf(key))
    session.notify('k', { set: 'two' }, 2)
    expect(used.states).toEqual(['set live', 'set live'])
    expect(used.told).toBe(1)
    used.leave()
    await afterwards()
    session.notify('k', { set: 'three' }, 3)
    expect(elsewhere.values).toEqual(['one', 'two', 'three'])
    expect(sent()).toEqual(['KEYNOTIFY', 'GET'])
  })

  it('keeps the last entry, as stale, when the client is closed', async () => {
    const { store, key } = open()
    const used = use(watchOf(key))
    await store.close()
    expect(used.states.slice(1)).toEqual(['set live', 'set stale', 'set stale closed'])
  })

  it('tells at once that the client is closed already', async () => {
    const { store, key } = open()
    await store.close()
    const used = use(watchOf(key))
    expect(used.states).toEqual(['nothing connecting', 'nothing connecting closed'])
  })

  it('tells why the store refuses, asks no more, and tries again when it is subscribed anew', async () => {
    const { key, sent } = open({ KEYNOTIFY: of('-ERR not authorized') })
    const watch = watchOf(key)
    const used = use(watch)
    expect(used.states).toEqual(['nothing connecting', 'nothing connecting not-authorized'])
    expect(watch.read()).toBe(watch.read())
    expect(sent()).toEqual(['KEYNOTIFY'])
    used.leave()
    await afterwards()
    expect(watch.read()).toBe(UNWATCHED)
    use(watch)
    expect(sent()).toEqual(['KEYNOTIFY', 'KEYNOTIFY'])
  })
})
