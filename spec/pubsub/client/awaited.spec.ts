import { from, Observable } from 'rxjs'
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { Awaitable, type SendResult } from '../../../src/pubsub/client/index.js'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting().connect()
})

describe.each([
  ['a message', 'sendToGroup', () => setting.client.group('line').send(21)],
  ['an event', 'event', () => setting.client.sendEvent('e', 21)],
] as const)('%s', (_, type, send) => {
  it('awaiting the send several times sends the message once', async () => {
    const sending = send()
    const results = Promise.all([sending, sending, sending.then(({ ackId }) => ackId)])
    setting.socket.ack(1)
    expect(await results).toEqual([{ ackId: 1n, duplicate: false }, { ackId: 1n, duplicate: false }, 1n])
    expect(await sending).toEqual({ ackId: 1n, duplicate: false })
    expect(setting.socket.of(type)).toHaveLength(1)
  })

  it('awaiting the send throws the error of the send', async () => {
    const sending = send()
    const refusal = sending.catch(error => error.hubError.name)
    setting.socket.ack(1, 'Forbidden')
    expect(await refusal).toBe('Forbidden')
    await expect(sending).rejects.toMatchObject({ code: 'pubsub-refused' })
  })

  it('a subscription after the end of the awaited send sends again', async () => {
    const sending = send()
    const awaited = sending.finally(() => setting.log.push('settled'))
    setting.socket.ack(1)
    await awaited
    sending.subscribe(setting.observer('again'))
    setting.socket.ack(2)
    expect(setting.socket.of(type)).toHaveLength(2)
    expect(setting.log).toEqual(['settled', 'again: acked 2', 'again: complete'])
    expect(from(sending)).toBe(sending)
    expect(sending.pipe()).toBeInstanceOf(Observable)
  })

  it('the send has the type Awaitable', () => {
    expectTypeOf(send()).toEqualTypeOf<Awaitable<SendResult>>()
    expectTypeOf<Awaited<ReturnType<typeof send>>>().toEqualTypeOf<SendResult>()
    expect(send()).toBeInstanceOf(Awaitable)
  })
})

describe('an awaited send', () => {
  it('closing the client rejects an awaited send', async () => {
    const failed = setting.client
      .group('line')
      .send(21)
      .catch(({ code }) => code)
    void setting.client.close()
    expect(await failed).toBe('outcome-unknown')
    await expect(setting.client.sendEvent('e', 1)).rejects.toMatchObject({ code: 'closed' })
  })

  it('without acknowledgement resolves when the socket has taken the message', async () => {
    expect(await setting.client.group('line').send(1, { ack: false })).toEqual({ ackId: undefined, duplicate: false })
  })
})
