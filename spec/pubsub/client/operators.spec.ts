import { map, NEVER, type Observable, type OperatorFunction, of, Subject } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { beforeEach, describe, expect, it } from 'vitest'
import { Awaitable } from '../../../src/core/util/awaitable.js'
import { Group, type GroupHost } from '../../../src/pubsub/client/group.js'
import { type SendingOptions, sendEvent, sendToGroup } from '../../../src/pubsub/client/operators.js'
import type { GroupSendOptions } from '../../../src/pubsub/client/send.js'
import { marbleTest } from '../../support/marble-test.js'
import { Requests } from '../../support/operator-requests.js'
import { FakeSetting } from '../support/fake-socket-client.js'

const cold = (m: Context, diagram: string) => m.cold<string>(diagram)

/** Creates a group whose sends are scripted by item. */
function groupOf(requests: Requests): Group {
  const send: GroupHost['send'] = ({ frame }) => {
    const results = requests
      .of(String(frame.payload.data))
      .pipe(map(letter => ({ ackId: BigInt(letter.charCodeAt(0)), duplicate: false })))
    return new Awaitable(subscriber => results.subscribe(subscriber))
  }
  return new Group('line', { send, timeout: 90_000, messages: () => NEVER, gaps: () => NEVER })
}

/** Creates a `sendToGroup` with letters as results. */
function sending(
  requests: Requests,
  options: GroupSendOptions & SendingOptions = {},
): OperatorFunction<string, string> {
  return source =>
    source.pipe(
      sendToGroup(groupOf(requests), options),
      map(({ ackId }) => String.fromCharCode(Number(ackId))),
    )
}

describe('sendToGroup', () => {
  marbleTest('sendToGroup does not complete before its source', m => {
    const source = cold(m, '-')
    m.equal(source.pipe(sending(new Requests(m, {}))), '-')
    m.expect(source).toHaveSubscriptions('^')
  })

  marbleTest('sendToGroup completes with an empty source', m => {
    const source = cold(m, ' --|')
    m.equal(source.pipe(sending(new Requests(m, {}))), '--|')
    m.expect(source).toHaveSubscriptions('^-!')
  })

  marbleTest('sendToGroup sends every item and completes when the last item is acknowledged', m => {
    const requests = new Requests(m, { a: '--(a|)', b: '---(b|)' })
    const source = cold(m, ' -a-b|')
    m.equal(source.pipe(sending(requests)), '---a--(b|)')
    requests.expect('a', '   -^-!')
    requests.expect('b', '   ---^--!')
    m.expect(source).toHaveSubscriptions('^---!')
  })

  marbleTest('sendToGroup emits results in the order of the source, whatever the order of acknowledgements', m => {
    const requests = new Requests(m, { a: '-----(a|)', b: '-(b|)', c: '---(c|)', d: '-(d|)' })
    const source = cold(m, ' abc-------d|')
    m.equal(source.pipe(sending(requests)), '-----(abc)-(d|)')
  })

  marbleTest('sendToGroup limits the sends in flight and starts them in order', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '--(b|)', c: '-(c|)' })
    const source = cold(m, ' (abc|)')
    m.equal(source.pipe(sending(requests, { concurrency: 1 })), '---a-b(c|)')
    requests.expect('a', '   ^--!')
    requests.expect('b', '   ---^-!')
    requests.expect('c', '   -----^!')
  })

  marbleTest('sendToGroup fails when a send fails, and cancels the other sends', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '-#', c: '(c|)' })
    const source = cold(m, ' ab-c')
    m.equal(source.pipe(sending(requests)), '--#')
    requests.expect('a', '   ^-!')
    requests.expect('b', '   -^!')
    requests.expect('c')
    m.expect(source).toHaveSubscriptions('^-!')
  })

  marbleTest('sendToGroup passes on an error of its source', m => {
    const requests = new Requests(m, { a: '---(a|)' })
    const source = cold(m, ' a-#')
    m.equal(source.pipe(sending(requests)), '--#')
    requests.expect('a', '   ^-!')
  })

  marbleTest('unsubscribing from sendToGroup cancels all sends', m => {
    const requests = new Requests(m, { a: '-----(a|)', b: '(b|)' })
    const source = cold(m, ' a---b')
    m.expect(source.pipe(sending(requests)), '--!').toBeObservable('-')
    requests.expect('a', '   ^-!')
    m.expect(source).toHaveSubscriptions('^-!')
  })

  marbleTest('sendToGroup fails with `overflow` when too many items wait', m => {
    const requests = new Requests(m, { a: '-----(a|)', b: '', c: '' })
    const codes = cold(m, '(abc)').pipe(sending(requests, { concurrency: 1, buffer: 1 }))
    const received: string[] = []
    codes.subscribe({ error: error => received.push(error.code) })
    m.flush()
    expect(received).toEqual(['overflow'])
  })

  marbleTest('sendToGroup emits each item with its result, in the order of the source', m => {
    const requests = new Requests(m, { a: '---(x|)', b: '(y|)' })
    const words$ = cold(m, 'ab|').pipe(
      sendToGroup(groupOf(requests)),
      map(({ item, ackId }) => `${item}=${String.fromCharCode(Number(ackId))}`),
    )
    m.expect(words$).toBeObservable('---(pq|)', { p: 'a=x', q: 'b=y' })
  })

  it.each<GroupSendOptions & SendingOptions>([{ concurrency: 0 }, { buffer: -1 }])('throws for %j', options => {
    const group = new Group('line', {
      send: () => new Awaitable(() => undefined),
      timeout: 1,
      messages: () => NEVER,
      gaps: () => NEVER,
    })
    expect(() => sendToGroup(group, options)).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})

describe('operators on a connection', () => {
  let setting: FakeSetting

  beforeEach(() => {
    setting = new FakeSetting().connect()
  })

  const observe = (stream$: Observable<unknown>): void => {
    stream$.subscribe(setting.observer('out'))
  }

  it('items are sent and results are emitted in the order of the source', () => {
    observe(of(1, 2, 3).pipe(sendToGroup(setting.client.group('line'), { noEcho: true })))
    expect(setting.socket.of('sendToGroup').map(({ data, noEcho }) => [data, noEcho])).toEqual([
      [1, true],
      [2, true],
      [3, true],
    ])
    setting.socket.ack(3).ack(1).ack(2)
    expect(setting.log).toEqual(['out: acked 1', 'out: acked 2', 'out: acked 3', 'out: complete'])
  })

  it('sendEvent sends events to the server', () => {
    observe(of({ button: 1 }).pipe(sendEvent(setting.client, 'click')))
    setting.socket.ack(1)
    expect(setting.socket.of('event')).toMatchObject([{ event: 'click', data: { button: 1 } }])
    expect(setting.log).toEqual(['out: acked 1', 'out: complete'])
  })

  it('an item that cannot be sent fails the stream', () => {
    observe(of(1, undefined).pipe(sendToGroup(setting.client.group('line'))))
    expect(setting.log).toEqual(['out: argument'])
  })

  it('unsubscribing cancels items that wait for the connection', () => {
    const clicks$ = new Subject<number>()
    setting.socket.drop()
    const subscription = clicks$.pipe(sendEvent(setting.client, 'click')).subscribe()
    clicks$.next(1)
    subscription.unsubscribe()
    setting.socket.accept().pong()
    expect(setting.socket.of('event')).toEqual([])
  })

  it('invalid groups, clients and options throw synchronously', () => {
    const line = setting.client.group('line')
    const wrong = ['{"timeout":0}', '{"ack":"no"}', '{"noEcho":"false"}', 'null'].map(text => JSON.parse(text))
    const calls = [
      ...[JSON.parse('"g"'), JSON.parse('null'), JSON.parse('{}')].map(none => () => sendToGroup(none)),
      ...[JSON.parse('"c"'), JSON.parse('null'), JSON.parse('{}')].map(none => () => sendEvent(none, 'x')),
      ...wrong.map(options => () => sendToGroup(line, options)),
      () => sendEvent(setting.client, 'x', { timeout: -1 }),
    ]
    for (const call of calls) expect(call).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('an invalid event name throws synchronously', () => {
    expect(() => sendEvent(setting.client, ' ')).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})
