import { describe, expect, it } from 'vitest'
import { StateStore } from '../../../src/client/connect/client.js'
import { ConnectionLostError, text } from '../../../src/client/index.js'
import { type OptimisticOptions, optimistic } from '../../../src/client/optimistic/index.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { record } from '../../support/open-client.js'

const OK = utf8('+OK\r\n')
const LOST = new ConnectionLostError()

/**
 * Opens a view of the key `k`, which has the value `a`. A request for another key takes all room among the requests in
 * flight, so that a write of the view waits.
 */
function open(options: OptimisticOptions<string>) {
  const session = new FakeSession()
  const client = new StateStore(session, {
    clock: new ManualClock(),
    timeout: 10_000,
    maxQueued: 100,
    stopDelay: 0,
  })
  const view = optimistic(client.key('k', text), options)
  const states = record(view.state$)
  let answered = 0
  let stored = { value: 'a', version: 5 }
  const commands: string[] = []
  /** Responds to all requests for `k`, including those that follow. */
  const answer = (): void => {
    for (; answered < session.published.length; answered++) {
      const published = session.at(answered)
      const command = new TextDecoder().decode(published.request.payload)
      if (!command.includes('\r\nk\r\n')) continue
      const words = command.split('\r\n').filter(word => /^[A-Z]/i.test(word))
      commands.push(words.join(' '))
      published.acknowledge()
      const isRead = command.includes('GET')
      const isStale = command.includes('IFVER') && !command.includes(`${stored.version}:0:S`)
      const payload = isRead ? utf8(`$${stored.value.length}\r\n${stored.value}\r\n`) : isStale ? utf8(':-1\r\n') : OK
      session.reply(published, payload, { __stat: '200', __ts: `${stored.version}:0:S` })
    }
  }
  session.connect({ receiveMaximum: 1 })
  answer()
  const occupy = (): void => void record(client.key('other', text).set('x'))
  occupy()
  const write = record(view.set('b'))
  return {
    session,
    view,
    write,
    states,
    commands,
    occupy,
    /** Makes room for another request in flight. */
    makeRoom: () => {
      session.at(session.published.length - 1).acknowledge()
      answer()
    },
    /** Ends the connection before the write is sent. */
    lose: () => {
      answered = session.published.length
      session.disconnect(LOST)
    },
    reconnect: () => {
      session.connect({ receiveMaximum: 1 })
      answer()
    },
    changeElsewhere: () => {
      stored = { value: 'c', version: 9 }
    },
    writes: () => commands.filter(command => command.startsWith('SET k')),
  }
}

describe('a write that waits for room among the requests in flight when the connection is lost', () => {
  it('drop: the write fails with `offline` and is not sent after the reconnect', () => {
    const { write, lose, reconnect, writes, view } = open({ offline: 'drop' })
    lose()
    expect(write.error).toMatchObject({ code: 'offline', cause: { code: 'connection-lost' } })
    reconnect()
    expect({ writes: writes(), state: view.state.state }).toEqual({ writes: [], state: 'refused' })
  })

  it('latest: the write waits and is sent once as a late write', () => {
    const { write, lose, reconnect, writes, view } = open({ offline: 'latest' })
    lose()
    expect(view.state).toMatchObject({ value: 'b', state: 'pending', late: { sentAfter: undefined } })
    reconnect()
    expect(writes()).toEqual(['SET k b'])
    expect(write.values).toMatchObject([{ outcome: 'applied', sentLate: true }])
  })

  it('cas: the write conflicts with a change during the outage', () => {
    const { write, lose, reconnect, changeElsewhere } = open({ offline: 'cas' })
    lose()
    changeElsewhere()
    reconnect()
    expect(write.error).toMatchObject({ code: 'conflict' })
  })

  it('ask: the write is sent only if `ask` approves it', () => {
    const asked: unknown[] = []
    const ask = ({ value, current }: { value: string; current: string | undefined }): boolean[] => {
      asked.push([value, current])
      return [false]
    }
    const { write, lose, reconnect, writes } = open({ offline: 'ask', ask })
    lose()
    reconnect()
    expect({ asked, writes: writes() }).toEqual({ asked: [['b', 'a']], writes: [] })
    expect(write.values).toMatchObject([{ outcome: 'withdrawn' }])
  })

  it('ask: a write that was approved needs another approval', () => {
    const asked: string[] = []
    const ask = ({ value }: { value: string }): boolean[] => {
      if (asked.length === 0) occupy()
      asked.push(value)
      return [true]
    }
    const { write, lose, reconnect, occupy, writes } = open({ offline: 'ask', ask })
    lose()
    reconnect()
    expect({ asked, writes: writes() }).toEqual({ asked: ['b'], writes: [] })
    lose()
    reconnect()
    expect({ asked, writes: writes() }).toEqual({ asked: ['b', 'b'], writes: ['SET k b'] })
    expect(write.values).toMatchObject([{ outcome: 'applied' }])
  })

  it('a write that its caller has withdrawn is not sent after the reconnect', () => {
    const { view, write, lose, reconnect, writes } = open({ offline: 'latest' })
    view.set('withdrawn').subscribe().unsubscribe()
    write.unsubscribe()
    lose()
    reconnect()
    expect({ writes: writes(), state: view.state }).toMatchObject({
      writes: [],
      state: { value: 'a', state: 'confirmed' },
    })
  })

  it('a write of a view whose watch has ended fails and is not sent later', () => {
    const session = new FakeSession()
    const clock = new ManualClock()
    const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 100, stopDelay: 0 })
    const view = optimistic(client.key('k', text), { offline: 'latest' })
    session.connect({ receiveMaximum: 1 })
    const states = record(view.state$)
    const write = record(view.set('b'))
    session.reply(session.at(0), utf8('-ERR not authorized\r\n'))
    expect([states.error, write.error]).toMatchObject([{ code: 'not-authorized' }, undefined])
    session.disconnect(LOST)
    expect(write.error).toMatchObject({ code: 'closed' })
    session.connect()
    expect({ sent: session.published.length, timers: clock.pending }).toEqual({ sent: 1, timers: 0 })
  })

  it('without a policy the write is sent after the reconnect', () => {
    const { write, lose, reconnect, writes } = open({})
    lose()
    reconnect()
    expect(writes()).toEqual(['SET k b'])
    expect(write.values).toMatchObject([{ outcome: 'applied' }])
  })

  it('a write in the failure handler fails before the client emits the lost connection', () => {
    const { view, lose, reconnect, writes } = open({ offline: 'drop' })
    const errors: unknown[] = []
    let hasWritten = false
    view.state$.subscribe(({ state }) => {
      if (state !== 'refused' || hasWritten) return
      hasWritten = true
      view.set('d').subscribe({ error: error => errors.push(error) })
    })
    lose()
    reconnect()
    expect({ writes: writes(), errors }).toMatchObject({ writes: [], errors: [{ code: 'offline' }] })
  })
})

describe('a write that waits for room among the requests in flight when its caller withdraws it', () => {
  it.each([{}, { offline: 'latest' }, { conflict: 'refuse' }] as const)(
    'the write is not sent, and the view shows the stored value again: %j',
    options => {
      const { view, write, makeRoom, writes } = open(options)
      expect(view.state).toMatchObject({ value: 'b', state: 'pending' })
      write.unsubscribe()
      expect(view.state).toMatchObject({ value: 'a', state: 'confirmed' })
      makeRoom()
      expect(writes()).toEqual([])
    },
  )

  it('a newer write is sent in its place, based on the value that the user saw first', () => {
    const { view, write, makeRoom, writes } = open({ conflict: (mine, current, base) => `${base}-${current}-${mine}` })
    const newer = record(view.set('c'))
    write.unsubscribe()
    expect(view.state).toMatchObject({ value: 'c', state: 'pending' })
    makeRoom()
    expect(writes()).toEqual(['SET k c IFVER'])
    expect(newer.values).toMatchObject([{ outcome: 'applied', value: 'c' }])
  })

  it('a write that is withdrawn while in flight is not merged and sent again after a conflict', () => {
    const { session, view, write, makeRoom, changeElsewhere, writes } = open({ conflict: mine => mine })
    session.at(session.published.length - 1).acknowledge()
    write.unsubscribe()
    changeElsewhere()
    makeRoom()
    expect({ writes: writes(), state: view.state }).toMatchObject({
      writes: ['SET k b IFVER'],
      state: { value: 'c', state: 'confirmed' },
    })
  })

  it('a write that the client has sent stays unaffected', () => {
    const { session, view, write, makeRoom } = open({})
    session.at(session.published.length - 1).acknowledge()
    write.unsubscribe()
    expect(view.state).toMatchObject({ value: 'b', state: 'pending' })
    makeRoom()
    expect(view.state).toMatchObject({ value: 'b', state: 'confirmed' })
  })
})

describe('a write before the first connection', () => {
  it('a write without a policy fails with a timeout that says that the client has not connected', () => {
    const session = new FakeSession()
    const clock = new ManualClock()
    const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 100, stopDelay: 0 })
    const write = record(optimistic(client.key('k', text)).set('b'))
    clock.advance(10_000)
    expect(write.error).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('(the client has not connected to the broker yet: '),
    })
  })
})

describe('a write that is not sent while the outcome of an earlier write is unknown', () => {
  function openUnknown() {
    const session = new FakeSession()
    const clock = new ManualClock()
    const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 100, stopDelay: 0 })
    const view = optimistic(client.key('k', text), { offline: 'drop' })
    const states = record(view.state$)
    session.connect({ receiveMaximum: 1 })
    const headers = { __stat: '200', __ts: '5:0:S' }
    for (const payload of ['+OK\r\n', '$1\r\na\r\n']) {
      const published = session.at(session.published.length - 1)
      published.acknowledge()
      session.reply(published, utf8(payload), headers)
    }
    record(view.set('earlier'))
    session.at(2).acknowledge()
    clock.advance(10_000)
    record(client.key('other', text).set('x'))
    const write = record(view.set('later'))
    return { session, clock, write, states }
  }

  it.each([
    ['offline', ({ session }: ReturnType<typeof openUnknown>) => session.disconnect(LOST)],
    ['timeout', ({ clock }: ReturnType<typeof openUnknown>) => clock.advance(10_000)],
  ])('the write fails with `%s`, and the earlier write is shown again', (code, end) => {
    const scene = openUnknown()
    end(scene)
    expect(scene.write.error).toMatchObject({ code })
    expect(scene.states.values.map(({ value, state }) => `${value} ${state}`)).not.toContain('a refused')
    expect(scene.states.values.at(-1)).toMatchObject({ value: 'earlier', state: 'unknown' })
  })
})
