import { beforeEach, describe, expect, it } from 'vitest'
import { FakeSetting, URL } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

const STATES: readonly (readonly [string, () => void])[] = [
  ['opening a socket', () => undefined],
  ['waiting for the first frame', () => setting.socket.accept()],
  ['connected', () => setting.connect()],
  ['recovering', () => setting.connect().socket.drop()],
  [
    'waiting for a probe response',
    () => {
      setting.connect().socket.drop()
      setting.socket.accept()
    },
  ],
  [
    'between attempts to recover',
    () => {
      setting.connect().socket.drop()
      setting.socket.drop()
    },
  ],
  ['between attempts to connect', () => setting.socket.drop()],
]

describe('closing a client', () => {
  it.each(STATES)(
    'closing while the client is %s ends timers and attempts, and is reported once',
    async (_, prepare) => {
      prepare()
      const closed = setting.client.close()
      for (const socket of setting.network.sockets) socket.drop(1000)
      await closed
      await setting.client.close()
      const attempts = setting.network.count
      setting.clock.advance(600_000)
      expect({ pending: setting.clock.pending, attempts: setting.network.count }).toEqual({ pending: 0, attempts })
      expect(setting.states.filter(state => state === 'stopped')).toEqual(['stopped'])
      expect(setting.status).toEqual({ state: 'stopped', code: 1000, reason: 'closed by caller', cause: undefined })
    },
  )

  it('closing while a URL is fetched discards that URL', async () => {
    let asked = 0
    setting = new FakeSetting({
      url: () => {
        asked++
        return URL
      },
    })
    await setting.client.close()
    setting.clock.advance(60_000)
    expect({ asked, sockets: setting.network.count, pending: setting.clock.pending }).toEqual({
      asked: 1,
      sockets: 0,
      pending: 0,
    })
  })

  it('closing ends the session at the hub with code 1000', () => {
    void setting.connect().client.close()
    expect(setting.socket.closings).toEqual([1000])
  })

  it('closing completes status, messages and errors, and fails pending sends', () => {
    const { client } = setting.connect()
    client.status$.subscribe({ complete: () => setting.log.push('status: complete') })
    client.errors$.subscribe(setting.observer('errors'))
    client.serverMessages$.subscribe(setting.observer('server'))
    client.group('line').messages$.subscribe(setting.observer('line'))
    client.group('line').gaps$.subscribe(setting.observer('gaps'))
    client.group('line').send(1).subscribe(setting.observer('sent'))
    setting.socket.drop()
    client.group('line').send(2).subscribe(setting.observer('waiting'))
    void client.close()
    expect(setting.log.sort()).toEqual([
      'errors: complete',
      'gaps: complete',
      'line: complete',
      'sent: outcome-unknown',
      'server: complete',
      'status: complete',
      'waiting: closed',
    ])
  })

  it('subscriptions after closing complete or fail immediately', async () => {
    await Promise.all([setting.client.close(), setting.socket.drop(1006)])
    setting.client.group('line').messages$.subscribe(setting.observer('messages'))
    setting.client.group('line').send(1).subscribe(setting.observer('send'))
    setting.client.status$.subscribe({
      next: ({ state }) => setting.log.push(`status: ${state}`),
      complete: () => setting.log.push('status: complete'),
    })
    expect(setting.log).toEqual(['messages: complete', 'send: closed', 'status: stopped', 'status: complete'])
  })

  it('close waits for the socket up to a timeout', async () => {
    setting.connect()
    let done = false
    const closed = setting.client.close().then(() => {
      done = true
    })
    setting.clock.advance(1_999)
    await Promise.resolve()
    expect(done).toBe(false)
    expect(setting.socket.terminated).toBe(false)
    setting.clock.advance(1)
    await closed
    expect([setting.clock.pending, setting.socket.terminated]).toEqual([0, true])
  })

  it('a socket that closes in time is not terminated', async () => {
    const closed = setting.connect().client.close()
    setting.socket.drop(1000)
    await closed
    setting.clock.advance(10_000)
    expect(setting.socket.terminated).toBe(false)
  })

  it('leaving the scope of `await using` closes the client', async () => {
    setting.connect()
    {
      await using client = setting.client
      client.errors$.subscribe()
      setting.clock.advance(0)
      void Promise.resolve().then(() => setting.socket.drop(1000))
    }
    expect(setting.states.at(-1)).toBe('stopped')
  })

  it('a subscriber that closes the client receives no further messages', () => {
    setting
      .connect()
      .client.group('line')
      .messages$.subscribe(() => void setting.client.close())
    setting.socket.publish(1).publish(2)
    expect(setting.states.filter(state => state === 'stopped')).toHaveLength(1)
  })
})
