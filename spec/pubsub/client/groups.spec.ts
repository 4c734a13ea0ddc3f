import type { Subscription } from 'rxjs'
import { beforeEach, describe, expect, it } from 'vitest'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

const listen = (group = 'line', name = group): Subscription =>
  setting.client.group(group).messages$.subscribe(setting.observer(name))

/** Returns the joins and leaves on the latest socket, such as `+line` and `-line`. */
const asked = (): string[] =>
  setting.socket.frames.flatMap(({ type, group }) =>
    type === 'joinGroup' ? [`+${group}`] : type === 'leaveGroup' ? [`-${group}`] : [],
  )

describe('the messages of a group', () => {
  it("the client joins with a group's first subscriber and leaves with its last", () => {
    setting.connect()
    const first = listen('line', 'a')
    const second = listen('line', 'b')
    setting.socket.ack(1)
    first.unsubscribe()
    expect(asked()).toEqual(['+line'])
    second.unsubscribe()
    expect(setting.socket.frames).toEqual([
      { type: 'joinGroup', group: 'line', ackId: 1 },
      { type: 'leaveGroup', group: 'line', ackId: 2 },
    ])
  })

  it('messages reach all subscribers of their group and no others, through any handle', () => {
    setting.connect()
    listen('line', 'a')
    listen('line', 'b')
    listen('other')
    setting.socket.publish(1).publish(2, 'other').publish(3, 'stranger')
    expect(setting.log).toEqual(['a: 1', 'b: 1', 'other: 2'])
  })

  it('a message has data, type, sender and sequence id', () => {
    const messages: unknown[] = []
    setting
      .connect()
      .client.group('line')
      .messages$.subscribe(message => messages.push(message))
    const common = { type: 'message', from: 'group', group: 'line' }
    setting.socket.receive({ ...common, fromUserId: 'bob', dataType: 'binary', data: 'AQID', sequenceId: 1 })
    setting.socket.receive({ ...common, dataType: 'text', data: 'x', sequenceId: 2 })
    expect(messages).toEqual([
      { group: 'line', fromUserId: 'bob', dataType: 'binary', data: new Uint8Array([1, 2, 3]), sequenceId: 1n },
      { group: 'line', fromUserId: undefined, dataType: 'text', data: 'x', sequenceId: 2n },
    ])
  })

  it('messages that precede the acknowledgement of the join are delivered', () => {
    setting.connect()
    listen()
    setting.socket.publish(1).ack(1)
    expect(setting.log).toEqual(['line: 1'])
  })

  it('a join waits for the connection', () => {
    listen()
    expect(setting.log).toEqual([])
    setting.connect()
    expect(asked()).toEqual(['+line'])
  })

  it('a group without subscribers is not joined after connecting', () => {
    listen().unsubscribe()
    setting.connect()
    expect(asked()).toEqual([])
  })

  it('the client joins groups before it sends queued messages', () => {
    setting.client.group('line').send(1).subscribe()
    listen()
    setting.connect()
    expect(setting.socket.frames.map(({ type }) => type)).toEqual(['joinGroup', 'sendToGroup'])
  })

  it('a subscriber can subscribe again from its error handler', () => {
    setting.connect()
    setting.client.group('line').messages$.subscribe({ error: () => listen() })
    setting.socket.ack(1, 'Forbidden')
    expect(asked()).toEqual(['+line', '+line'])
    setting.socket.ack(2).publish(1)
    expect(setting.log).toEqual(['line: 1'])
  })
})

describe('subscribing and unsubscribing', () => {
  it.each<[string, readonly ('come' | 'go')[], readonly string[]]>([
    ['leaves after the join was answered', ['come', 'go'], ['+line', '-line']],
    ['stays joined', ['come', 'go', 'come'], ['+line']],
    ['leaves once', ['come', 'go', 'come', 'go'], ['+line', '-line']],
  ])('faster than the response of the hub, the client %s', (_, steps, expected) => {
    setting.connect()
    let subscription: Subscription | undefined
    for (const step of steps) {
      if (step === 'come') subscription = listen()
      else subscription?.unsubscribe()
    }
    expect(asked()).toEqual(['+line'])
    setting.socket.ack(1).ack(2)
    expect(asked()).toEqual(expected)
  })

  it('subscribing during a pending leave joins the group after the leave', () => {
    setting.connect()
    const first = listen()
    setting.socket.ack(1)
    first.unsubscribe()
    listen()
    expect(asked()).toEqual(['+line', '-line'])
    setting.socket.ack(2)
    expect(asked()).toEqual(['+line', '-line', '+line'])
  })

  it('during an outage take effect after the outage', () => {
    setting.connect()
    const line = listen('line')
    listen('kept')
    setting.socket.ack(1).ack(2).drop()
    line.unsubscribe()
    listen('new')
    listen('brief').unsubscribe()
    setting.socket.accept().pong()
    expect(asked()).toEqual(['-line', '+new'])
  })

  it('a request in flight when the socket is lost is resent with its ackId', () => {
    setting.connect()
    listen()
    setting.recover()
    expect(setting.socket.of('joinGroup')).toEqual([{ type: 'joinGroup', group: 'line', ackId: 1 }])
    setting.socket.ack(1, 'Duplicate').publish(1)
    expect(setting.log).toEqual(['line: 1'])
  })
})

describe('a new session', () => {
  it('joins the wanted groups once, and no group that was left', () => {
    setting.connect()
    const left = listen('left')
    listen('a')
    listen('b')
    setting.socket.ack(1).ack(2)
    left.unsubscribe()
    setting.socket.ack(4)
    setting.beginNewSession()
    expect(asked()).toEqual(['+a', '+b'])
    expect(setting.socket.of('joinGroup').map(({ ackId }) => ackId)).toEqual([5, 6])
  })

  it('does not join groups that were left between sessions', () => {
    setting.connect()
    const line = listen()
    setting.socket.ack(1).drop(1008)
    line.unsubscribe()
    setting.socket.accept().greet()
    expect(asked()).toEqual([])
  })

  it('a gap is reported when its group is joined again', () => {
    const gaps: unknown[] = []
    setting.client.group('line').gaps$.subscribe(gap => gaps.push(gap))
    setting.client.group('other').gaps$.subscribe(setting.observer('other'))
    setting.connect()
    listen()
    setting.socket.ack(1).publish(1)
    const heardAt = setting.clock.now()
    setting.clock.advance(3_000)
    setting.beginNewSession()
    expect(gaps).toEqual([])
    setting.clock.advance(500)
    setting.socket.ack(2)
    expect(gaps).toEqual([{ group: 'line', from: heardAt, to: heardAt + 3_500 }])
    expect(setting.log).toEqual(['line: 1'])
  })

  it('no gap is reported to a subscriber that subscribed after the loss', () => {
    setting.client.group('line').gaps$.subscribe(setting.observer('gap'))
    setting.connect()
    const first = listen()
    setting.socket.ack(1).drop(1008)
    first.unsubscribe()
    listen()
    setting.socket.accept().greet().ack(2)
    expect(setting.log).toEqual([])
  })

  it('does not resend the requests of the old session', () => {
    setting.connect()
    listen()
    setting.beginNewSession().socket.ack(1)
    expect(setting.socket.of('joinGroup')).toEqual([{ type: 'joinGroup', group: 'line', ackId: 2 }])
  })
})

describe('a rejected join', () => {
  it('fails all subscribers and ends the membership', () => {
    setting.connect()
    listen('line', 'a')
    listen('line', 'b')
    setting.socket.ack(1, 'Forbidden')
    expect(setting.log).toEqual(['a: pubsub-refused', 'b: pubsub-refused'])
    expect(setting.errors).toEqual([])
    setting.beginNewSession()
    expect(asked()).toEqual([])
  })

  it('a rejected rejoin is also reported on errors$', () => {
    setting.connect()
    listen()
    setting.socket.ack(1)
    setting.beginNewSession().socket.ack(2, 'Forbidden')
    expect(setting.log).toEqual(['line: pubsub-refused'])
    expect(setting.errors).toEqual(['pubsub-refused'])
  })

  it('a listener of errors$ may join the group again', () => {
    setting.connect()
    const first = listen()
    setting.client.errors$.subscribe(() => {
      first.unsubscribe()
      listen('line', 'again')
    })
    setting.socket.ack(1)
    setting.beginNewSession().socket.ack(2, 'Forbidden')
    expect(asked()).toEqual(['+line', '+line'])
    setting.socket.ack(3).publish(1)
    expect(setting.log).toEqual(['line: pubsub-refused', 'again: 1'])
  })

  it('a late rejection of a join does not fail a subscriber of a newer membership', () => {
    setting.connect()
    let first = listen()
    const other = setting.client.group('other')
    other.messages$.subscribe({
      error: () => {
        setting.socket.ack(1, 'Forbidden')
        first.unsubscribe()
        first = listen('line', 'again')
      },
    })
    setting.socket.ack(2, 'Forbidden').ack(3).publish(1)
    expect(asked()).toEqual(['+line', '+other', '+line'])
    expect(setting.log).toEqual(['again: 1'])
  })

  it('the rejection of a join whose subscriber has left is ignored', () => {
    setting.connect()
    listen().unsubscribe()
    setting.socket.ack(1, 'Forbidden')
    expect(setting.log).toEqual([])
    expect(asked()).toEqual(['+line'])
  })

  it('a group can be joined again after its leave was rejected', () => {
    setting.connect()
    const first = listen()
    setting.socket.ack(1)
    first.unsubscribe()
    setting.socket.ack(2, 'Forbidden')
    expect(setting.errors).toEqual(['pubsub-refused'])
    listen()
    expect(asked()).toEqual(['+line', '-line', '+line'])
  })

  it('a join rejected with InternalServerError is retried', () => {
    setting.connect()
    listen()
    setting.socket.ack(1, 'InternalServerError')
    setting.clock.advance(1_000)
    expect(setting.socket.of('joinGroup').map(({ ackId }) => ackId)).toEqual([1, 1])
    setting.socket.ack(1)
    expect(setting.log).toEqual([])
  })
})

describe('a join without a response', () => {
  it('is reported and retried', () => {
    setting.connect()
    listen()
    for (let second = 0; second < 90; second++) {
      setting.clock.advance(1_000)
      setting.socket.pong()
    }
    expect(setting.errors).toEqual(['outcome-unknown'])
    expect(setting.socket.of('joinGroup').map(({ ackId }) => ackId)).toEqual([1, 2])
  })
})
