import { beforeEach, describe, expect, it } from 'vitest'
import type { SendOptions } from '../../../src/pubsub/client/send.js'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

/** Sends data to the group `line` and logs the outcome. */
const send = (data: unknown, options: SendOptions = {}) =>
  setting.client
    .group('line')
    .send(data, options)
    .subscribe(setting.observer(`${data}`))

const sentData = (): unknown[] => setting.socket.of('sendToGroup').map(({ data }) => data)

describe('a send before the codec is loaded', () => {
  const late = () => {
    let loaded = (): void => undefined
    let failed = (_error: Error): void => undefined
    const ready = new Promise<void>((resolve, reject) => {
      loaded = resolve
      failed = reject
    })
    setting = new FakeSetting({ ready: () => ready })
    setting.connect()
    return { loaded: () => loaded(), failed: () => failed(new Error('offline')) }
  }
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

  it('sends wait for the codec and keep their order', async () => {
    const { loaded } = late()
    send(1)
    send(2)
    expect(sentData()).toEqual([])
    loaded()
    await turn()
    expect(sentData()).toEqual([1, 2])
  })

  it('a send that is unsubscribed before the codec is loaded is not sent', async () => {
    const { loaded } = late()
    send(1).unsubscribe()
    send(2)
    loaded()
    await turn()
    expect(sentData()).toEqual([2])
  })

  it('a send fails when the codec cannot be loaded', async () => {
    const { failed } = late()
    send(1)
    failed()
    await turn()
    expect(setting.log).toEqual([expect.stringContaining('connection-lost')])
  })
})
